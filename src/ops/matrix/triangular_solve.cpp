#include "ops/matrix/matrices.h"
#include "ops/ops.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {
namespace triangular_solve {

constexpr int kLower = 0;
constexpr int kTransposed = 1;
constexpr int kUnit = 2;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_square(ctx, 0, "a"));
  return set_solutions(ctx, 0, 1);
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const tensor::TriangleForm form{call.attrs[kLower].integer() != 0,
                                  call.attrs[kTransposed].integer() != 0,
                                  call.attrs[kUnit].integer() != 0};
  return visit_real(call.out(0).dtype, [&]<class Real> {
    return tensor::run_triangular_solve<Real>(call, form, tensor::PlainMatrix<Real>{});
  });
}

}  // namespace triangular_solve
}  // namespace

constinit const ir::OpDef triangular_solve_op{
    .name = "triangular_solve",
    .doc =
        "x of A x = b, or of A^T x = b if `transposed`, for every column of b, where A is the "
        "lower triangle of a, or the upper one if not `lower`, with 1 on its diagonal if `unit`. "
        "Nothing else of a is read. Leading axes broadcast. A 0 on the diagonal is an error.",
    .inputs = {{"a", ir::Accept::real}, {"b", ir::Accept::real, ir::Arity::one, 0}},
    .outputs = {"x"},
    .attrs = {{"lower", tensor::AttrKind::integer},
              {"transposed", tensor::AttrKind::integer},
              {"unit", tensor::AttrKind::integer}},
    .effects = ir::Effects::may_fail,
    .infer = triangular_solve::infer,
    .reference = triangular_solve::reference,
};

}  // namespace scanloom::ops
