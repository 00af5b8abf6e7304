#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace where {

ir::Reg scalar(ir::ScalarCtx& s) { return s.select(s.in(0), s.in(1), s.in(2)); }

}  // namespace where
}  // namespace

constinit const ir::OpDef where_op{
    .name = "where",
    .doc = "a where the condition holds, else b.",
    .inputs = {{"condition", ir::Accept::boolean},
               {"a", ir::Accept::tensor},
               {.name = "b", .accept = ir::Accept::tensor, .same_as = 1}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<where::scalar>,
    .reference = reference_from_scalar<where::scalar>,
    .scalar = where::scalar,
};

}  // namespace scanloom::ops
