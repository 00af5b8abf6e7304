#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace logical_or {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::logical_or, s.in(0), s.in(1)); }

}  // namespace logical_or
}  // namespace

constinit const ir::OpDef logical_or_op{
    .name = "logical_or",
    .doc = "Whether at least one holds.",
    .inputs = {{"a", ir::Accept::boolean},
               {.name = "b", .accept = ir::Accept::boolean, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<logical_or::scalar>,
    .reference = reference_from_scalar<logical_or::scalar>,
    .scalar = logical_or::scalar,
};

}  // namespace scanloom::ops
