#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace mod {

ir::Reg scalar(ir::ScalarCtx& s) {
  const bool sign_of_a = s.attr(0).integer() != 0;
  return s.binary(sign_of_a ? ir::ScalarOp::mod_trunc : ir::ScalarOp::mod_floor, s.in(0), s.in(1));
}

}  // namespace mod
}  // namespace

constinit const ir::OpDef mod_op{
    .name = "mod",
    .doc = "Remainder of a / b with the sign of b, or with fmod of a; of integers 0 where b is 0.",
    .inputs = {{"a", ir::Accept::numeric},
               {.name = "b", .accept = ir::Accept::numeric, .same_as = 0}},
    .outputs = {"y"},
    .attrs = {{"fmod", tensor::AttrKind::integer}},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<mod::scalar>,
    .reference = reference_from_scalar<mod::scalar>,
    .scalar = mod::scalar,
};

}  // namespace scanloom::ops
