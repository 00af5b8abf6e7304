#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace bit_xor {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::bit_xor, s.in(0), s.in(1)); }

}  // namespace bit_xor
}  // namespace

constinit const ir::OpDef bit_xor_op{
    .name = "bit_xor",
    .doc = "Bitwise exclusive or.",
    .inputs = {{"a", ir::Accept::integer},
               {.name = "b", .accept = ir::Accept::integer, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<bit_xor::scalar>,
    .reference = reference_from_scalar<bit_xor::scalar>,
    .scalar = bit_xor::scalar,
};

}  // namespace scanloom::ops
