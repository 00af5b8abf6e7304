#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace div {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::div, s.in(0), s.in(1)); }

}  // namespace div
}  // namespace

constinit const ir::OpDef div_op{
    .name = "div",
    .doc = "Quotient; of integers towards zero, and 0 where the divisor is 0.",
    .inputs = {{"a", ir::Accept::numeric},
               {.name = "b", .accept = ir::Accept::numeric, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<div::scalar>,
    .reference = reference_from_scalar<div::scalar>,
    .scalar = div::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
