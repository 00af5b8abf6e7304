#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace add {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::add, s.in(0), s.in(1)); }

}  // namespace add
}  // namespace

constinit const ir::OpDef add_op{
    .name = "add",
    .doc = "Sum; integers wrap.",
    .inputs = {{"a", ir::Accept::numeric},
               {.name = "b", .accept = ir::Accept::numeric, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<add::scalar>,
    .reference = reference_from_scalar<add::scalar>,
    .scalar = add::scalar,
};

}  // namespace scanloom::ops
