#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/reduce/softmax_lines.h"
#include "ops/step_rules.h"

namespace scanloom::ops {

constinit const ir::OpDef softmax_op{
    .name = "softmax",
    .doc = "exp(x) divided by its sum along `axis`, as a product with the inverse of the sum.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .attrs = {{"axis", tensor::AttrKind::integer}},
    .infer = infer_softmax,
    .reference = run_softmax,
    .batching = ir::Batching::call,
    .widens_f16 = ir::always_widens,
    .steps = {.axis = steps_along_axis},
    .lifting = {can_lift_along_axis, lift_along_axis},
};

}  // namespace scanloom::ops
