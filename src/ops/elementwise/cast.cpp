#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace cast {

ir::Reg scalar(ir::ScalarCtx& s) { return s.cast(s.in(0), s.attr(0).dtype()); }

}  // namespace cast
}  // namespace

constinit const ir::OpDef cast_op{
    .name = "cast",
    .doc =
        "The same values in another element type; floats lose their fraction when they become "
        "integers.",
    .inputs = {{"x", ir::Accept::tensor}},
    .outputs = {"y"},
    .attrs = {{"to", tensor::AttrKind::dtype}},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<cast::scalar>,
    .reference = reference_from_scalar<cast::scalar>,
    .scalar = cast::scalar,
};

}  // namespace scanloom::ops
