// Gaussian elimination with partial pivoting (the first of equal elements). A singular matrix is
// factored too, with a 0 among the pivots; operators that divide by it report that.
#include "ops/matrix/matrices.h"
#include "ops/ops.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {
namespace lu_factor {

using tensor::Type;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_square(ctx, 0, "x"));
  const Type& x = ctx.in(0);
  ctx.set(0, x);
  if (!x.ranked) {
    ctx.set(1, Type::unranked(DType::i64));
    return {};
  }
  return set_sizes(ctx, 1, DType::i64, {x.dims.begin(), x.dims.end() - 1});
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return visit_real(call.out(0).dtype, [&]<class Real> {
    return tensor::run_lu_factor<Real>(call, tensor::PlainMatrix<Real>{});
  });
}

}  // namespace lu_factor
}  // namespace

constinit const ir::OpDef lu_factor_op{
    .name = "lu_factor",
    .doc =
        "The factors P L U of the square matrices along the last two axes of x: in `lu` U, and "
        "below its diagonal L, whose diagonal is 1; row k was exchanged with row pivots[k], for "
        "one k after the other. A singular matrix has a 0 on the diagonal of U.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"lu", "pivots"},
    .infer = lu_factor::infer,
    .reference = lu_factor::reference,
    .steps = {.axis = steps_of_matrices},
};

}  // namespace scanloom::ops
