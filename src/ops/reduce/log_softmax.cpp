#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/reduce/softmax_lines.h"
#include "ops/step_rules.h"

namespace scanloom::ops {

constinit const ir::OpDef log_softmax_op{
    .name = "log_softmax",
    .doc = "x minus the logarithm of the sum of exp(x) along `axis`.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .attrs = {{"axis", tensor::AttrKind::integer}},
    .infer = infer_softmax,
    .reference = run_log_softmax,
    .batching = ir::Batching::call,
    .widens_f16 = ir::always_widens,
    .steps = {.axis = steps_along_axis},
    .lifting = {can_lift_along_axis, lift_along_axis},
};

}  // namespace scanloom::ops
