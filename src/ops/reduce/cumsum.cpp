#include "ops/ops.h"
#include "ops/reduce/cumulative.h"

namespace scanloom::ops {

constinit const ir::OpDef cumsum_op{
    .name = "cumsum",
    .doc =
        "Sums of all elements up to each one along an axis; with `exclusive` without that one, "
        "with `reverse` from the end.",
    .inputs = kCumulativeInputs,
    .outputs = {"y"},
    .attrs = kCumulativeAttrs,
    .effects = ir::Effects::may_fail,
    .infer = infer_cumulative,
    .reference = run_cumsum,
    .batching = ir::Batching::call,
    .steps = {.axis = steps_of_cumulative},
    .lifting = {can_lift_cumulative, lift_cumulative},
};

}  // namespace scanloom::ops
