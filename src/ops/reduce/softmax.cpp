#include "ops/ops.h"
#include "ops/reduce/softmax_lines.h"

namespace scanloom::ops {

constinit const ir::OpDef softmax_op{
    .name = "softmax",
    .doc = "exp(x) divided by its sum along `axis`.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .attrs = {{"axis", tensor::AttrKind::integer}},
    .infer = infer_softmax,
    .reference = run_softmax,
};

}  // namespace scanloom::ops
