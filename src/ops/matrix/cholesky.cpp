#include "ops/matrix/matrices.h"
#include "ops/ops.h"

namespace scanloom::ops {
namespace {
namespace cholesky {

constexpr int kLower = 0;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_square(ctx, 0, "x"));
  ctx.set(0, ctx.in(0));
  return {};
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return visit_real(call.out(0).dtype, [&]<class Real> {
    return tensor::run_cholesky<Real>(call, call.attrs[kLower].integer() != 0,
                                      tensor::PlainMatrix<Real>{});
  });
}

}  // namespace cholesky
}  // namespace

constinit const ir::OpDef cholesky_op{
    .name = "cholesky",
    .doc =
        "The lower triangles L of L L^T = x for the matrices along the last two axes of x, of "
        "which the lower triangle is read; if not `lower` the upper ones U of U^T U = x, from the "
        "upper triangle. A pivot that is not positive is an error.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .attrs = {{"lower", tensor::AttrKind::integer}},
    .effects = ir::Effects::may_fail,
    .infer = cholesky::infer,
    .reference = cholesky::reference,
    .steps = {.axis = steps_of_matrices},
};

}  // namespace scanloom::ops
