// Rules of reductions and of other operators along axes.
#include <algorithm>
#include <limits>

#include <scanloom/scan.h>

#include "expr/apply.h"
#include "grad/rules.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

/// Returns the axes of a reduce: all axes if it names none.
Axes axes_of(const Pull& p) {
  const tensor::Attr& listed = p.attr("axes");
  Axes axes;
  const int rank = p.in(0).rank();
  const bool all = !listed.present() || listed.integers().empty();
  if (all)
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  else
    for (const std::int64_t axis : listed.integers()) axes.push_back(axis < 0 ? axis + rank : axis);
  return axes;
}

/// Returns a result of the reduction with its reduced axes as axes of size 1.
Expr kept(const Pull& p, const Expr& y) {
  return p.attr("keepdims").integer() != 0 ? y : expand_dims(y, axes_of(p));
}

/// Returns the product of all other elements, without dividing by elements that may be 0.
Expr others(const Pull& p) {
  const Expr& x = p.in(0);
  Axes axes = axes_of(p), order, back(static_cast<std::size_t>(x.rank()));
  for (int axis = 0; axis < x.rank(); ++axis)
    if (std::ranges::find(axes, axis) == axes.end()) order.push_back(axis);
  const auto rest = static_cast<int>(order.size());
  order.insert(order.end(), axes.begin(), axes.end());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const Expr turned = dimshuffle(x, order);
  std::vector<Expr> sizes;
  for (int axis = 0; axis < rest; ++axis) sizes.push_back(size(turned, axis));
  Expr length = expr::integer(1);
  for (int axis = rest; axis < turned.rank(); ++axis) length = length * size(turned, axis);
  sizes.push_back(length);
  const Expr lines = reshape(turned, sizes);
  const auto exclusive = [&](int reverse) {
    return expr::apply(ops::cumprod_op, {lines, expr::integer(rest)},
                       {{"exclusive", 1}, {"reverse", reverse}});
  };
  return dimshuffle(reshape(exclusive(0) * exclusive(1), shape(turned)), back);
}

void pull_reduce(Pull& p) {
  const Expr& x = p.in(0);
  if (p.node->inputs.size() > 1 && p.in(1).defined()) {
    p.result[0] =
        expr::failed(fail(Code::unsupported, "the gradient of a reduction along computed axes"));
    return;
  }
  const std::string& kind = p.attr("kind").text();
  const Expr g = kept(p, p.g());
  const auto spread = [&](const Expr& part) {
    const bool whole = part.error() == nullptr && expr::type_of(part) == expr::type_of(x) &&
                       std::ranges::find(x.sizes(), -1) == x.sizes().end();
    p.result[0] = whole ? part : broadcast_to(part, shape(x));
  };
  if (kind == "sum") return spread(g);
  if (kind == "mean") {
    Expr count = expr::integer(1);
    for (const std::int64_t axis : axes_of(p)) count = count * size(x, static_cast<int>(axis));
    return spread(g / cast(count, x.dtype()));
  }
  if (kind == "max" || kind == "min")
    return spread(where(equal(x, kept(p, p.out())), g, number(0, g.dtype())));
  if (kind == "prod") return spread(g * others(p));
  if (kind == "sum_square") return spread(g * (x * 2));
  if (kind == "l1") return spread(g * sign(x));
  if (kind == "l2") return spread(g * x / kept(p, p.out()));
  if (kind == "log_sum") return spread(g / sum(x, axes_of(p), true));
  // log_sum_exp; minus infinity contributes nothing, even if all elements are minus infinity.
  const Expr nothing = equal(x, number(-std::numeric_limits<double>::infinity(), x.dtype()));
  const Expr zero = number(0, x.dtype());
  return spread(g * where(nothing, zero, exp(where(nothing, zero, x - kept(p, p.out())))));
}

void pull_softmax(Pull& p) {
  const std::int64_t axis = p.attr("axis").integer();
  const Expr part = p.g() * p.out();
  p.result[0] = part - p.out() * sum(part, {axis}, true);
}
void pull_log_softmax(Pull& p) {
  const std::int64_t axis = p.attr("axis").integer();
  p.result[0] = p.g() - exp(p.out()) * sum(p.g(), {axis}, true);
}

/// Returns the sum over the elements that follow.
Expr summed_back(const Pull& p, const Expr& g) {
  return expr::apply(
      ops::cumsum_op, {g, p.in(1)},
      {{"exclusive", p.attr("exclusive")}, {"reverse", 1 - p.attr("reverse").integer()}});
}
void pull_cumsum(Pull& p) { p.result[0] = summed_back(p, p.g()); }

/// The cotangent of an element is the product of the elements before it, times what g adds after
/// it. The latter comes from a recurrence over the other elements, so that nothing is divided by
/// what may be 0.
void pull_cumprod(Pull& p) {
  const Expr& x = p.in(0);
  const auto listed = expr::constant_integers(p.in(1));
  if (!listed) {
    p.result[0] = expr::failed(
        fail(Code::unsupported, "the gradient of cumprod along an axis that is computed"));
    return;
  }
  const std::int64_t axis = listed->front() < 0 ? listed->front() + x.rank() : listed->front();
  const bool exclusive = p.attr("exclusive").integer() != 0;
  const bool reverse = p.attr("reverse").integer() != 0;
  Axes front{axis}, back;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) front.push_back(i);
  for (std::int64_t i = 0; i < x.rank(); ++i) back.push_back(i == axis ? 0 : i < axis ? i + 1 : i);
  const Expr rows = dimshuffle(x, front), cotangents = dimshuffle(p.g(), front);
  // The cotangents of all products that contain an element, without the factors before it.
  const auto step = [exclusive](const StepInputs& now) {
    const Expr &factor = now[0], &g = now[1], &later = now.state(0);
    const Expr sum = g + (exclusive ? factor * later : later);
    return Step{exclusive ? sum : factor * sum, exclusive ? later : sum};
  };
  const ScanResult sums = scan({.sequences = {rows, cotangents},
                                .initial = {sum(zeros_like(rows), {0}), {}},
                                .backwards = !reverse,
                                .name = "the gradient of cumprod"},
                               step);
  const Expr& from_end = sums.outputs[1];
  const Expr in_order =
      reverse ? from_end : subtensor(from_end, {Index::slice({}, {}, expr::integer(-1))});
  const Expr before = expr::apply(ops::cumprod_op, {x, p.in(1)},
                                  {{"exclusive", 1}, {"reverse", p.attr("reverse")}});
  p.result[0] = before * dimshuffle(in_order, back);
}

/// The picked elements get the cotangents.
void pull_topk(Pull& p) {
  p.result[0] = expr::apply(ops::scatter_elements_op, {zeros_like(p.in(0)), p.out(1), p.g()},
                            {{"axis", p.attr("axis")}, {"reduction", "add"}});
}

}  // namespace

std::span<const RuleRow> reduction_rules() {
  static const RuleRow rows[] = {
      {&ops::reduce_op, pull_reduce},           {&ops::softmax_op, pull_softmax},
      {&ops::log_softmax_op, pull_log_softmax}, {&ops::cumsum_op, pull_cumsum},
      {&ops::cumprod_op, pull_cumprod},         {&ops::topk_op, pull_topk},
  };
  return rows;
}

}  // namespace scanloom::autodiff
