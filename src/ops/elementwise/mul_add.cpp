// Created only by the pass fuse_multiply_add (numerics fast); no model format has it.
#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace mul_add {

ir::Reg scalar(ir::ScalarCtx& s) { return s.mul_add(s.in(0), s.in(1), s.in(2)); }

}  // namespace mul_add
}  // namespace

constinit const ir::OpDef mul_add_op{
    .name = "mul_add",
    .doc = "a * b + c, rounded once on machines with fused multiply-add, elsewhere twice.",
    .inputs = {{"a", ir::Accept::real},
               {"b", ir::Accept::real, ir::Arity::one, 0},
               {"c", ir::Accept::real, ir::Arity::one, 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<mul_add::scalar>,
    .reference = reference_from_scalar<mul_add::scalar>,
    .scalar = mul_add::scalar,
};

}  // namespace scanloom::ops
