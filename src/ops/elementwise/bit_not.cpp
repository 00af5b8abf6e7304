#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace bit_not {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::bit_not, s.in(0)); }

}  // namespace bit_not
}  // namespace

constinit const ir::OpDef bit_not_op{
    .name = "bit_not",
    .doc = "Bitwise complement.",
    .inputs = {{"x", ir::Accept::integer}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<bit_not::scalar>,
    .reference = reference_from_scalar<bit_not::scalar>,
    .scalar = bit_not::scalar,
};

}  // namespace scanloom::ops
