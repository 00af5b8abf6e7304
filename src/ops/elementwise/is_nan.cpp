#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace is_nan {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::is_nan, s.in(0)); }

}  // namespace is_nan
}  // namespace

constinit const ir::OpDef is_nan_op{
    .name = "is_nan",
    .doc = "Whether an element is NaN.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<is_nan::scalar>,
    .reference = reference_from_scalar<is_nan::scalar>,
    .scalar = is_nan::scalar,
};

}  // namespace scanloom::ops
