#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace shift_left {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::shift_left, s.in(0), s.in(1)); }

}  // namespace shift_left
}  // namespace

constinit const ir::OpDef shift_left_op{
    .name = "shift_left",
    .doc = "a shifted left by b bits; 0 where b is the width or more.",
    .inputs = {{"a", ir::Accept::integer},
               {.name = "b", .accept = ir::Accept::integer, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<shift_left::scalar>,
    .reference = reference_from_scalar<shift_left::scalar>,
    .scalar = shift_left::scalar,
};

}  // namespace scanloom::ops
