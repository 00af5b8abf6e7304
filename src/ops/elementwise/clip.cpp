#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace clip {

ir::Reg scalar(ir::ScalarCtx& s) {
  ir::Reg result = s.in(0);
  if (s.has(1)) result = s.binary(ir::ScalarOp::max, result, s.in(1));
  if (s.has(2)) result = s.binary(ir::ScalarOp::min, result, s.in(2));
  return result;
}

}  // namespace clip
}  // namespace

constinit const ir::OpDef clip_op{
    .name = "clip",
    .doc = "x limited from below by min, then from above by max; either limit may be absent.",
    .inputs = {{"x", ir::Accept::numeric},
               {"min", ir::Accept::numeric, ir::Arity::optional, 0},
               {"max", ir::Accept::numeric, ir::Arity::optional, 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<clip::scalar>,
    .reference = reference_from_scalar<clip::scalar>,
    .scalar = clip::scalar,
};

}  // namespace scanloom::ops
