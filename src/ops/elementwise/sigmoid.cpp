#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace sigmoid {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::sigmoid, s.in(0)); }

}  // namespace sigmoid
}  // namespace

constinit const ir::OpDef sigmoid_op{
    .name = "sigmoid",
    .doc = "1 / (1 + exp(-x)).",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<sigmoid::scalar>,
    .reference = reference_from_scalar<sigmoid::scalar>,
    .scalar = sigmoid::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
