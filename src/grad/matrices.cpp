// Rules of matrix factorisations and solutions (Giles, An extended collection of matrix derivative
// results, 2008; for cholesky Murray, Differentiation of the Cholesky decomposition, 2016).
#include "expr/apply.h"
#include "grad/rules.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

Expr turned(const Expr& x) { return with_axes_swapped(x, x.rank() - 1, x.rank() - 2); }

/// Sums over the batches that `x` was broadcast along.
Expr fitted(const Expr& cotangent, const Expr& x) {
  if (cotangent.error() != nullptr || (cotangent.rank() == 2 && x.rank() == 2)) return cotangent;
  return sum_to(cotangent, shape(x));
}

bool flag(const Pull& p, std::string_view name) { return p.attr(name).integer() != 0; }

/// Returns the cotangent of A, where x solves A x = b, or A^T x = b, given the cotangent of b.
Expr of_matrix(const Expr& of_b, const Expr& x, bool transposed) {
  return -(transposed ? matmul(x, turned(of_b)) : matmul(of_b, turned(x)));
}

void pull_lu_solve(Pull& p) {
  constexpr std::size_t kLu = 0, kPivots = 1, kB = 2, kMatrix = 3;
  if (p.wanted[kLu]) {
    p.result[kLu] = expr::failed(
        fail(Code::unsupported, "the gradient of a solution along its factors, not the matrix"));
    return;
  }
  const bool transposed = flag(p, "transposed");
  const auto solved = [&](const Expr& b, bool across) {
    return expr::told_as(expr::apply(ops::lu_solve_op, {p.in(kLu), p.in(kPivots), b, p.in(kMatrix)},
                                     {{"transposed", across ? 1 : 0}}),
                         "the gradient of a solution with " + expr::called(p.in(kMatrix)));
  };
  const Expr of_b = solved(p.g(), !transposed);
  if (p.in(kB).defined()) {
    if (p.wanted[kB]) p.result[kB] = fitted(of_b, p.in(kB));
    if (p.wanted[kMatrix])
      p.result[kMatrix] = fitted(of_matrix(of_b, p.out(), transposed), p.in(kMatrix));
    return;
  }
  if (p.wanted[kMatrix]) p.result[kMatrix] = of_matrix(of_b, p.out(), transposed);
}

/// The derivative of the determinant is det A A^-T, that of its logarithm A^-T.
void pull_lu_det(Pull& p) {
  constexpr std::size_t kLu = 0, kPivots = 1, kMatrix = 2;
  if (p.wanted[kLu]) {
    p.result[kLu] = expr::failed(
        fail(Code::unsupported, "the gradient of a determinant along its factors, not the matrix"));
    return;
  }
  if (!p.wanted[kMatrix]) return;
  Expr scale;
  if (p.g(0).defined()) scale = p.g(0) * p.out(0);
  if (p.g(2).defined()) scale = scale.defined() ? scale + p.g(2) : p.g(2);
  if (!scale.defined()) return;  // the sign does not change
  if (scale.error() != nullptr) {
    p.result[kMatrix] = scale;
    return;
  }
  const Expr across =
      expr::told_as(expr::apply(ops::lu_solve_op, {p.in(kLu), p.in(kPivots), Expr(), p.in(kMatrix)},
                                {{"transposed", 1}}),
                    "the gradient of the determinant of " + expr::called(p.in(kMatrix)));
  p.result[kMatrix] = expand_dims(scale, {scale.rank(), scale.rank() + 1}) * across;
}

void pull_triangular_solve(Pull& p) {
  const bool lower = flag(p, "lower"), transposed = flag(p, "transposed"), unit = flag(p, "unit");
  const Expr of_b = expr::told_as(
      expr::apply(
          ops::triangular_solve_op, {p.in(0), p.g()},
          {{"lower", lower ? 1 : 0}, {"transposed", transposed ? 0 : 1}, {"unit", unit ? 1 : 0}}),
      "the gradient of a solution with a triangle of " + expr::called(p.in(0)));
  if (p.wanted[1]) p.result[1] = fitted(of_b, p.in(1));
  if (!p.wanted[0]) return;
  const Expr whole = fitted(of_matrix(of_b, p.out(), transposed), p.in(0));
  p.result[0] = lower ? lower_triangle(whole, unit ? -1 : 0) : upper_triangle(whole, unit ? 1 : 0);
}

/// The lower triangle with half of the diagonal.
Expr half(const Expr& x) {
  return (lower_triangle(x) + lower_triangle(x, -1)) * number(0.5, x.dtype());
}

/// With P = half(L^T dL), the lower triangle of L^-T (P + P^T) L^-1. An off-diagonal element of it
/// represents two.
void pull_cholesky(Pull& p) {
  const bool lower = flag(p, "lower");
  const Expr l = lower ? p.out() : turned(p.out());
  const Expr product = half(matmul(turned(l), lower ? p.g() : turned(p.g())));
  const TriangularForm across{.lower = true, .transposed = true};
  const Expr left = triangular_solve(l, product + turned(product), across);
  const Expr both = half(triangular_solve(l, turned(left), across));
  p.result[0] = lower ? both : turned(both);
}

/// Returns the cotangent of the rows of x from those of their distances to the rows of y.
Expr of_points(const Expr& cotangent, const Expr& x, const Expr& y) {
  const Expr total = sum(cotangent, {1}, true);
  return (total * x - matmul(cotangent, y)) * number(2, x.dtype());
}

void pull_squared_distances(Pull& p) {
  if (p.wanted[0]) p.result[0] = of_points(p.g(), p.in(0), p.in(1));
  if (p.wanted[1]) p.result[1] = of_points(turned(p.g()), p.in(1), p.in(0));
}

}  // namespace

std::span<const RuleRow> matrix_rules() {
  static const RuleRow rows[] = {
      {.op = &ops::cholesky_op, .rule = pull_cholesky},
      {.op = &ops::lu_det_op, .rule = pull_lu_det},
      // Results of the factors are functions of the matrix, which is an operand of them.
      {.op = &ops::lu_factor_op, .rule = nullptr, .constant = true},
      {.op = &ops::lu_solve_op, .rule = pull_lu_solve},
      {.op = &ops::squared_distances_op, .rule = pull_squared_distances},
      {.op = &ops::triangular_solve_op, .rule = pull_triangular_solve},
  };
  return rows;
}

}  // namespace scanloom::autodiff
