#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace relu {

ir::Reg scalar(ir::ScalarCtx& s) {
  return s.binary(ir::ScalarOp::max, s.in(0), s.integer(0, s.dtype(s.in(0))));
}

}  // namespace relu
}  // namespace

constinit const ir::OpDef relu_op{
    .name = "relu",
    .doc = "The greater of x and 0; NaN of NaN.",
    .inputs = {{"x", ir::Accept::numeric}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<relu::scalar>,
    .reference = reference_from_scalar<relu::scalar>,
    .scalar = relu::scalar,
};

}  // namespace scanloom::ops
