#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace bit_or {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::bit_or, s.in(0), s.in(1)); }

}  // namespace bit_or
}  // namespace

constinit const ir::OpDef bit_or_op{
    .name = "bit_or",
    .doc = "Bitwise or.",
    .inputs = {{"a", ir::Accept::integer},
               {.name = "b", .accept = ir::Accept::integer, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<bit_or::scalar>,
    .reference = reference_from_scalar<bit_or::scalar>,
    .scalar = bit_or::scalar,
};

}  // namespace scanloom::ops
