#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace round {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::round_even, s.in(0)); }

}  // namespace round
}  // namespace

constinit const ir::OpDef round_op{
    .name = "round",
    .doc = "The nearest integer; ties go to the even one.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<round::scalar>,
    .reference = reference_from_scalar<round::scalar>,
    .scalar = round::scalar,
};

}  // namespace scanloom::ops
