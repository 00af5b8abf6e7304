// Products of tensors, all of which are contractions.
#include <scanloom/expr.h>

#include <algorithm>

#include "expr/apply.h"
#include "expr/types.h"
#include "ops/ops.h"

namespace scanloom {
namespace {

/// Letters for axes: a product names at most 2 * kMaxRank of them.
char letter(std::size_t i) { return static_cast<char>(i < 26 ? 'a' + i : 'A' + (i - 26)); }

std::string letters(int count, std::size_t first) {
  std::string text;
  for (int i = 0; i < count; ++i) text += letter(first + static_cast<std::size_t>(i));
  return text;
}

std::vector<Expr> factors(const Expr& a, const Expr& b) {
  std::vector<Expr> both = expr::promoted({a, b});
  for (Expr& x : both)
    if (x.error() == nullptr && x.dtype() == DType::boolean) x = cast(x, DType::i8);
  return both;
}

}  // namespace

Expr contract(const Expr& a, const Expr& b, std::string_view spec) {
  std::string text(spec);
  std::erase(text, ' ');
  if (!text.empty() && text.find("->") == std::string::npos)
    return expr::failed(fail(
        Code::invalid_argument,
        "the specification '{}' does not give the axes of the result: add -> and their letters",
        spec));
  return expr::told_as(expr::apply(ops::contract_op, factors(a, b), {{"spec", std::move(text)}}),
                       "product of " + expr::called(a) + " and " + expr::called(b));
}

Expr matmul(const Expr& a, const Expr& b) { return contract(a, b, ""); }

Expr dot(const Expr& a, const Expr& b) {
  const std::vector<Expr> both = factors(a, b);
  if (const Expr* bad = expr::first_failed(both)) return *bad;
  const int m = both[0].rank(), n = both[1].rank();
  if (m == 0 || n == 0) return both[0] * both[1];
  if (m <= 2 && n <= 2) return matmul(both[0], both[1]);
  if (n == 1) return tensordot(both[0], both[1], {m - 1}, {0});
  return tensordot(both[0], both[1], {m - 1}, {n - 2});
}

Expr tensordot(const Expr& a, const Expr& b, const Axes& axes_a, const Axes& axes_b) {
  const std::vector<Expr> both = factors(a, b);
  if (const Expr* bad = expr::first_failed(both)) return *bad;
  if (axes_a.size() != axes_b.size())
    return expr::failed(fail(Code::invalid_argument, "tensordot: {} axes of {}, but {} of {}",
                             axes_a.size(), expr::describe(a), axes_b.size(), expr::describe(b)));
  std::string left = letters(a.rank(), 0);
  std::string right = letters(b.rank(), static_cast<std::size_t>(a.rank()));
  std::string summed;
  for (std::size_t i = 0; i < axes_a.size(); ++i) {
    const auto at = tensor::normalise_axis(axes_a[i], a.rank());
    const auto bt = tensor::normalise_axis(axes_b[i], b.rank());
    if (!at || !bt)
      return expr::failed(fail(Code::invalid_argument,
                               "tensordot: axes {} and {} of tensors with {} and {} axes",
                               axes_a[i], axes_b[i], a.rank(), b.rank()));
    right[static_cast<std::size_t>(*bt)] = left[static_cast<std::size_t>(*at)];
    summed += left[static_cast<std::size_t>(*at)];
  }
  std::string result;
  for (const char axis : left + right)
    if (summed.find(axis) == std::string::npos) result += axis;
  return contract(both[0], both[1], left + "," + right + "->" + result);
}

Expr outer(const Expr& a, const Expr& b) { return contract(flatten(a), flatten(b), "i,j->ij"); }

Expr conv2d(const Expr& x, const Expr& w, const Axes& strides, const Axes& dilations) {
  const std::vector<Expr> both = factors(x, w);
  if (const Expr* bad = expr::first_failed(both)) return *bad;
  if (both[0].rank() != 4 || both[1].rank() != 4 || !is_floating_point(both[0].dtype()))
    return expr::failed(fail(Code::invalid_argument,
                             "conv2d of {} and {}: both must have 4 axes and be real",
                             expr::to_string(expr::type_of(x)), expr::to_string(expr::type_of(w))));
  if (strides.size() != 2 || dilations.size() != 2)
    return expr::failed(fail(Code::invalid_argument,
                             "conv2d has {} strides and {} dilations, not 2", strides.size(),
                             dilations.size()));
  return expr::told_as(
      expr::apply(ops::conv_op, both, {{"strides", strides}, {"dilations", dilations}}),
      "conv2d of " + expr::called(x) + " and " + expr::called(w));
}

}  // namespace scanloom
