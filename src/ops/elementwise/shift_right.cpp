#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace shift_right {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::shift_right, s.in(0), s.in(1)); }

}  // namespace shift_right
}  // namespace

constinit const ir::OpDef shift_right_op{
    .name = "shift_right",
    .doc =
        "a shifted right by b bits, filled with the sign; 0, or the sign, where b is the width "
        "or more.",
    .inputs = {{"a", ir::Accept::integer},
               {.name = "b", .accept = ir::Accept::integer, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<shift_right::scalar>,
    .reference = reference_from_scalar<shift_right::scalar>,
    .scalar = shift_right::scalar,
};

}  // namespace scanloom::ops
