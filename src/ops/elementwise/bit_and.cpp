#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace bit_and {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::bit_and, s.in(0), s.in(1)); }

}  // namespace bit_and
}  // namespace

constinit const ir::OpDef bit_and_op{
    .name = "bit_and",
    .doc = "Bitwise and.",
    .inputs = {{"a", ir::Accept::integer},
               {.name = "b", .accept = ir::Accept::integer, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<bit_and::scalar>,
    .reference = reference_from_scalar<bit_and::scalar>,
    .scalar = bit_and::scalar,
};

}  // namespace scanloom::ops
