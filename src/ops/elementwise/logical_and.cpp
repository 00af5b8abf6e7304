#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace logical_and {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::logical_and, s.in(0), s.in(1)); }

}  // namespace logical_and
}  // namespace

constinit const ir::OpDef logical_and_op{
    .name = "logical_and",
    .doc = "Whether both hold.",
    .inputs = {{"a", ir::Accept::boolean},
               {.name = "b", .accept = ir::Accept::boolean, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<logical_and::scalar>,
    .reference = reference_from_scalar<logical_and::scalar>,
    .scalar = logical_and::scalar,
};

}  // namespace scanloom::ops
