#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace log {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::log, s.in(0)); }

}  // namespace log
}  // namespace

constinit const ir::OpDef log_op{
    .name = "log",
    .doc = "Natural logarithm; NaN below 0.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<log::scalar>,
    .reference = reference_from_scalar<log::scalar>,
    .scalar = log::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
