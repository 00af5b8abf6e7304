// Matrix factorisations, and what is computed with them.
#include <scanloom/expr.h>

#include <utility>

#include "expr/apply.h"
#include "expr/types.h"
#include "ops/ops.h"

namespace scanloom {

using expr::apply;
using expr::apply_all;
using expr::called;
using expr::told_as;

namespace {

DType computed_in(DType dtype) {
  if (dtype == DType::f16 || dtype == DType::bf16) return DType::f32;
  return is_floating_point(dtype) ? dtype : DType::f64;
}

/// Applies f to the matrices in a type that the operators take, and converts back to the result's
/// type.
template <class F>
Expr computed(std::vector<Expr> xs, F&& f) {
  xs = expr::promoted(std::move(xs));
  if (const Expr* bad = expr::first_failed(xs)) return *bad;
  const DType dtype = xs[0].dtype(), wide = computed_in(dtype);
  if (dtype == wide) return f(xs);
  for (Expr& x : xs) x = cast(x, wide);
  const Expr result = f(xs);
  return is_floating_point(dtype) ? cast(result, dtype) : result;
}

LuFactors factors_of(const Expr& x, const std::string& words) {
  LuFactors factors = lu_factor(x);
  factors.lu = told_as(factors.lu, words);
  return factors;
}

/// Returns result i of lu_det of a matrix.
Expr determinant(const Expr& x, std::size_t i, const std::string& words) {
  const LuFactors factors = factors_of(x, words);
  return told_as(apply_all(ops::lu_det_op, {factors.lu, factors.pivots, factors.matrix}, {}, 3)[i],
                 words);
}

/// Turns a vector into a matrix of one column.
template <class F>
Expr as_columns(const Expr& b, F&& solve) {
  if (b.error() != nullptr) return b;
  if (b.rank() != 1) return solve(b);
  const Expr x = solve(expand_dims(b, {1}));
  if (x.error() != nullptr) return x;
  return squeeze(x, {x.rank() - 1});
}

/// Keeps elements according to their column number minus their row number.
Expr triangle(const Expr& x, std::int64_t diagonal, bool lower) {
  if (x.error() != nullptr) return x;
  const int rank = x.rank();
  if (rank < 2)
    return expr::failed(fail(Code::invalid_argument, "a triangle of {}, which has {} axes, not 2",
                             expr::describe(x), rank));
  const Expr rows = expand_dims(arange(0, size(x, rank - 2)), {1});
  const Expr columns = arange(0, size(x, rank - 1));
  const Expr limit = rows + expr::integer(diagonal);
  return where(lower ? columns <= limit : columns >= limit, x, number(0, x.dtype()));
}

}  // namespace

Expr cholesky(const Expr& x, bool lower) {
  return computed({x}, [&](const std::vector<Expr>& xs) {
    return told_as(apply(ops::cholesky_op, xs, {{"lower", lower ? 1 : 0}}),
                   "cholesky of " + called(x));
  });
}

LuFactors lu_factor(const Expr& x) {
  if (x.error() != nullptr) return {x, x, x};
  const DType wide = computed_in(x.dtype());
  const Expr matrix = x.dtype() == wide ? x : cast(x, wide);
  const std::vector<Expr> made = apply_all(ops::lu_factor_op, {matrix}, {}, 2);
  return {made[0], made[1], matrix};
}

Expr lu_solve(const LuFactors& factors, const Expr& b, bool transposed) {
  const std::string words = "solve of " + called(factors.matrix) + " and " + called(b);
  return as_columns(b, [&](const Expr& columns) {
    const std::vector<Expr> floats = expr::promoted({factors.lu, columns, factors.matrix});
    if (const Expr* bad = expr::first_failed(floats)) return *bad;
    return told_as(apply(ops::lu_solve_op, {floats[0], factors.pivots, floats[1], floats[2]},
                         {{"transposed", transposed ? 1 : 0}}),
                   words);
  });
}

Expr solve(const Expr& a, const Expr& b) {
  const std::string words = "solve of " + called(a) + " and " + called(b);
  return computed({a, b}, [&](const std::vector<Expr>& both) {
    return lu_solve(factors_of(both[0], words), both[1]);
  });
}

Expr triangular_solve(const Expr& x, const Expr& b, const TriangularForm& form) {
  const std::string words = std::string("solve of the ") + (form.lower ? "lower" : "upper") +
                            " triangle of " + called(x) + " and " + called(b);
  return computed({x, b}, [&](const std::vector<Expr>& both) {
    return as_columns(both[1], [&](const Expr& columns) {
      return told_as(apply(ops::triangular_solve_op, {both[0], columns},
                           {{"lower", form.lower ? 1 : 0},
                            {"transposed", form.transposed ? 1 : 0},
                            {"unit", form.unit ? 1 : 0}}),
                     words);
    });
  });
}

Expr inverse(const Expr& x) {
  const std::string words = "inverse of " + called(x);
  return computed({x}, [&](const std::vector<Expr>& xs) {
    const LuFactors factors = factors_of(xs[0], words);
    return told_as(apply(ops::lu_solve_op, {factors.lu, factors.pivots, Expr(), factors.matrix},
                         {{"transposed", 0}}),
                   words);
  });
}

Expr det(const Expr& x) {
  const std::string words = "det of " + called(x);
  return computed({x}, [&](const std::vector<Expr>& xs) { return determinant(xs[0], 0, words); });
}

SignAndLog slogdet(const Expr& x) {
  const std::string words = "slogdet of " + called(x);
  const auto part = [&](std::size_t i) {
    return computed({x}, [&](const std::vector<Expr>& xs) { return determinant(xs[0], i, words); });
  };
  return {part(1), part(2)};
}

Expr lower_triangle(const Expr& x, std::int64_t diagonal) { return triangle(x, diagonal, true); }
Expr upper_triangle(const Expr& x, std::int64_t diagonal) { return triangle(x, diagonal, false); }

}  // namespace scanloom
