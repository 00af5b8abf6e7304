#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace logical_xor {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::logical_xor, s.in(0), s.in(1)); }

}  // namespace logical_xor
}  // namespace

constinit const ir::OpDef logical_xor_op{
    .name = "logical_xor",
    .doc = "Whether exactly one holds.",
    .inputs = {{"a", ir::Accept::boolean},
               {.name = "b", .accept = ir::Accept::boolean, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<logical_xor::scalar>,
    .reference = reference_from_scalar<logical_xor::scalar>,
    .scalar = logical_xor::scalar,
};

}  // namespace scanloom::ops
