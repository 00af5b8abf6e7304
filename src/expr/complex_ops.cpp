#include "expr/complex_ops.h"

#include <complex>
#include <limits>

#include <scanloom/expr.h>

#include "expr/apply.h"
#include "expr/types.h"
#include "tensor/visit.h"

namespace scanloom::expr {
namespace {

// Types are inferred with real numbers instead of complex ones (expr/complex_rules.h).

Expected<void> infer_same(ir::InferCtx& ctx) {
  ctx.set(0, ctx.in(0));
  return {};
}

Expected<void> infer_both(ir::InferCtx& ctx) {
  SCANLOOM_TRY(tensor::Type both, ctx.broadcast(ctx.in(0), ctx.in(1), ctx.dtype()));
  ctx.set(0, std::move(both));
  return {};
}

constexpr ir::OpDef of_each(std::string_view name, std::string_view doc) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"z", ir::Accept::real}},
          .outputs = {"y"},
          .access = ir::Access::pointwise,
          .infer = infer_same};
}

}  // namespace

constinit const ir::OpDef make_complex_op{
    .name = "complex",
    .doc = "The complex number of a real and an imaginary part.",
    .inputs = {{"re", ir::Accept::real}, {.name = "im", .accept = ir::Accept::real, .same_as = 0}},
    .outputs = {"z"},
    .access = ir::Access::pointwise,
    .infer = infer_both,
};
constinit const ir::OpDef real_op = of_each("real", "The real part.");
constinit const ir::OpDef imag_op = of_each("imag", "The imaginary part.");
constinit const ir::OpDef conj_op = of_each("conj", "The complex conjugate.");
constinit const ir::OpDef angle_op = of_each("angle", "The angle to the positive real axis.");

}  // namespace scanloom::expr

namespace scanloom {
namespace {

bool is_complex_value(const Expr& x) { return expr::is_complex(x.dtype()); }

}  // namespace

Expr make_complex(const Expr& re, const Expr& im) {
  std::vector<Expr> parts = expr::promoted({re, im});
  for (const Expr& x : parts) {
    if (Expr bad = expr::unusable(x); bad.defined()) return bad;
    if (is_complex_value(x))
      return expr::failed(fail(Code::invalid_argument,
                               "complex of {} and {}: both parts must be real, but one is complex",
                               expr::describe(re), expr::describe(im)));
  }
  const DType part = expr::part_of(expr::complex_of(parts[0].dtype()));
  return expr::apply(expr::make_complex_op, {cast(parts[0], part), cast(parts[1], part)});
}

Expr from_polar(const Expr& length, const Expr& angle) {
  return make_complex(length * cos(angle), length * sin(angle));
}

Expr real(const Expr& x) {
  if (Expr bad = expr::unusable(x); bad.defined()) return bad;
  return is_complex_value(x) ? expr::apply(expr::real_op, {x}) : x;
}

Expr imag(const Expr& x) {
  if (Expr bad = expr::unusable(x); bad.defined()) return bad;
  return is_complex_value(x) ? expr::apply(expr::imag_op, {x}) : zeros_like(x);
}

Expr conj(const Expr& x) {
  if (Expr bad = expr::unusable(x); bad.defined()) return bad;
  return is_complex_value(x) ? expr::apply(expr::conj_op, {x}) : x;
}

Expr angle(const Expr& x) {
  if (Expr bad = expr::unusable(x); bad.defined()) return bad;
  const Expr z = is_complex_value(x) ? x : cast(x, expr::complex_of(x.dtype()));
  return expr::apply(expr::angle_op, {z});
}

Expr complex_number(double re, double im) {
  Expr number = expr::constant_of(tensor::Tensor::scalar(std::complex<double>(re, im)));
  number.node()->weak = true;
  return number;
}

}  // namespace scanloom
