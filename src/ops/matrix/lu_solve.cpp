// Solves systems with a factored matrix. The matrix itself may be passed along for gradients: the
// solution is a function of it, and the factors are merely how it is computed.
#include "ops/matrix/matrices.h"
#include "ops/ops.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {
namespace lu_solve {

constexpr int kTransposed = 0;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_square(ctx, 0, "lu"));
  SCANLOOM_CHECK_OK(check_pivots(ctx, 0, 1));
  if (ctx.has(2)) return set_solutions(ctx, 0, 2);
  ctx.set(0, ctx.in(0));
  return {};
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return visit_real(call.out(0).dtype, [&]<class Real> {
    return tensor::run_lu_solve<Real>(call, call.attrs[kTransposed].integer() != 0,
                                      tensor::PlainMatrix<Real>{});
  });
}

}  // namespace lu_solve
}  // namespace

constinit const ir::OpDef lu_solve_op{
    .name = "lu_solve",
    .doc =
        "x of A x = b, or of A^T x = b if `transposed`, for every column of b, where `lu` and "
        "`pivots` are the factors of A; without b the inverse of A. Leading axes broadcast. A "
        "pivot that is 0 is an error. `matrix` is A, for gradients; it is not read.",
    .inputs = {{"lu", ir::Accept::real},
               {"pivots", ir::Accept::integer},
               {"b", ir::Accept::real, ir::Arity::optional, 0},
               {"matrix", ir::Accept::real, ir::Arity::optional, 0}},
    .outputs = {"x"},
    .attrs = {{"transposed", tensor::AttrKind::integer}},
    .effects = ir::Effects::may_fail,
    .infer = lu_solve::infer,
    .reference = lu_solve::reference,
};

}  // namespace scanloom::ops
