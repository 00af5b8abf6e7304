#include "ops/ops.h"
#include "ops/reduce/arg_min_max.h"

namespace scanloom::ops {

constinit const ir::OpDef argmin_op{
    .name = "argmin",
    .doc =
        "The index of the least element along `axis`; NaN counts as the greatest, and among equals "
        "the first wins, or the last with `select_last_index`.",
    .inputs = {{"x", ir::Accept::numeric}},
    .outputs = {"indices"},
    .attrs = {{"axis", tensor::AttrKind::integer},
              {"keepdims", tensor::AttrKind::integer},
              {"select_last_index", tensor::AttrKind::integer}},
    .infer = infer_arg_min_max,
    .reference = arg_least,
    .steps = {.axis = steps_of_arg_min_max},
    .lifting = {can_lift_arg_min_max, lift_arg_min_max},
};

}  // namespace scanloom::ops
