#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {

ir::Reg scalar(ir::ScalarCtx& s) {
  return s.binary(ir::ScalarOp::max, s.in(0), s.integer(0, s.dtype(s.in(0))));
}

}  // namespace

constinit const ir::OpDef relu_op{
    .name = "relu",
    .doc = "The greater of x and 0; NaN of NaN.",
    .inputs = {{"x", ir::Accept::numeric}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<scalar>,
    .reference = reference_from_scalar<scalar>,
    .scalar = scalar,
};

}  // namespace scanloom::ops
