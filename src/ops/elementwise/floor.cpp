#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace floor {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::floor, s.in(0)); }

}  // namespace floor
}  // namespace

constinit const ir::OpDef floor_op{
    .name = "floor",
    .doc = "The greatest whole number that is not above x.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<floor::scalar>,
    .reference = reference_from_scalar<floor::scalar>,
    .scalar = floor::scalar,
};

}  // namespace scanloom::ops
