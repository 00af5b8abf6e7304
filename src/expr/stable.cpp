#include "expr/stable.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "expr/apply.h"
#include "expr/loop.h"
#include "expr/substitute.h"
#include "ops/ops.h"

namespace scanloom::expr {
namespace {

using Values = std::vector<Expr>;

bool is(const Expr& x, const ir::OpDef& op) {
  const Node& node = *x.node();
  return node.op == &op && !node.marks_gradient();
}

const Expr& operand(const Expr& x, std::size_t i = 0) { return x.node()->inputs[i]; }

const tensor::Attr& attr(const Expr& x, std::string_view name) {
  return x.node()->attrs[static_cast<std::size_t>(x.node()->op->attr_index(name))];
}

/// Whether x is a cast of reals to reals, which at most rounds.
bool keeps_numbers(const Expr& x) {
  return is(x, ops::cast_op) && is_real(operand(x).dtype()) && is_real(x.dtype());
}

/// Whether it is the number 1, of no axes.
bool is_one(const Expr& x) {
  if (x.node()->kind != Kind::constant || x.rank() != 0) return false;
  const Expr wide = cast(x, DType::f64);
  return wide.node()->kind == Kind::constant && wide.node()->value.as<double>()[0] == 1.0;
}

/// What 1 is added to; nullptr where x is no such sum.
const Expr* beside_one(const Expr& x) {
  if (!is(x, ops::add_op)) return nullptr;
  if (is_one(operand(x, 0))) return &operand(x, 1);
  return is_one(operand(x, 1)) ? &operand(x, 0) : nullptr;
}

/// x, or -x, without signs in front of it.
struct Signed {
  Expr x;
  bool negative = false;
  Values passed;

  [[nodiscard]] Expr value() const { return negative ? -x : x; }
};

Signed without_sign(const Expr& of, bool negative, Values passed) {
  Signed found{of, negative, std::move(passed)};
  while (is(found.x, ops::neg_op)) {
    found.passed.push_back(found.x);
    const Expr inner = operand(found.x);
    found.x = inner;
    found.negative = !found.negative;
  }
  return found;
}

/// What 1 / (1 + exp(-z)) and exp(z) / (1 + exp(z)) are the sigmoid of.
std::optional<Signed> sigmoid_quotient(const Expr& above, const Expr& below, Values passed) {
  const Expr* const power = beside_one(below);
  if (power == nullptr || !is(*power, ops::exp_op)) return std::nullopt;
  passed.insert(passed.end(), {below, *power});
  if (is_one(above)) return without_sign(operand(*power), true, std::move(passed));
  if (!is(above, ops::exp_op) || !(operand(above) == operand(*power))) return std::nullopt;
  passed.push_back(above);
  return without_sign(operand(*power), false, std::move(passed));
}

std::optional<Signed> of_sigmoid(const Expr& x) {
  if (is(x, ops::sigmoid_op)) return without_sign(operand(x), false, {x});
  if (!is(x, ops::div_op)) return std::nullopt;
  return sigmoid_quotient(operand(x, 0), operand(x, 1), {x});
}

/// A sum, or mean, of exponentials, and what lies between the two.
struct SumOfPowers {
  Expr sum, power;
  Expr terms;  ///< what is added up, were it not the exponential: z, maybe of a wider type
  Values passed;
};

std::optional<SumOfPowers> sum_of_powers(const Expr& x) {
  if (!is(x, ops::reduce_op) || x.node()->inputs.size() != 1) return std::nullopt;
  const std::string& kind = attr(x, "kind").text();
  if (kind != "sum" && kind != "mean") return std::nullopt;
  SumOfPowers found{.sum = x, .power = operand(x), .terms = {}, .passed = {x}};
  const bool widened = keeps_numbers(found.power);
  if (widened) {
    found.passed.push_back(found.power);
    const Expr narrow = operand(found.power);
    found.power = narrow;
  }
  if (!is(found.power, ops::exp_op)) return std::nullopt;
  found.passed.push_back(found.power);
  found.terms = cast(operand(found.power), operand(x).dtype());
  return found;
}

/// The axes of a reduce, from the front.
std::vector<std::int64_t> axes_of(const Expr& x) {
  const int rank = operand(x).rank();
  const tensor::Attr& listed = attr(x, "axes");
  std::vector<std::int64_t> axes;
  if (listed.present())
    for (const std::int64_t axis : listed.integers()) axes.push_back(axis < 0 ? axis + rank : axis);
  if (axes.empty())
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

/// A value that is the softmax of z along an axis.
struct OfSoftmax {
  Expr z;
  std::int64_t axis = 0;
  Values passed;
};

/// exp(z) / sum(exp(z)) along one axis, which is there with size 1.
std::optional<OfSoftmax> softmax_quotient(const Expr& above, Expr below, Values passed) {
  if (!is(above, ops::exp_op)) return std::nullopt;
  passed.push_back(above);
  std::optional<std::vector<std::int64_t>> added;
  for (;;) {
    const bool adds = is(below, ops::unsqueeze_op) && !added;
    if (adds && attr(below, "axes").present()) added = attr(below, "axes").integers();
    if (!adds && !keeps_numbers(below) && !is(below, ops::identity_op)) break;
    passed.push_back(below);
    const Expr inner = operand(below);
    below = inner;
  }
  const auto sum = sum_of_powers(below);
  if (!sum || attr(below, "kind").text() != "sum" || !(operand(sum->power) == operand(above)))
    return std::nullopt;
  const std::vector<std::int64_t> axes = axes_of(below);
  if (axes.size() != 1) return std::nullopt;
  const bool keeps = attr(below, "keepdims").integer() != 0;
  const bool is_number = !keeps && above.rank() == 1 && !added;
  const bool lies_along = keeps ? !added : added && *added == std::vector{axes[0]};
  if (!is_number && !lies_along) return std::nullopt;
  passed.insert(passed.end(), sum->passed.begin(), sum->passed.end());
  return OfSoftmax{operand(above), axes[0], std::move(passed)};
}

std::optional<OfSoftmax> of_softmax(const Expr& x) {
  if (is(x, ops::softmax_op)) return OfSoftmax{operand(x), attr(x, "axis").integer(), {x}};
  if (!is(x, ops::div_op)) return std::nullopt;
  return softmax_quotient(operand(x, 0), operand(x, 1), {x});
}

/// A logarithm by another formula.
struct Logarithm {
  Expr argument;
  std::function<Expr(const Expr&)> of;  ///< of the argument
  bool pointwise = false;
  Values passed;
};

Logarithm of_sign(Signed found, bool rest) {
  // log(sigmoid(z)) = -softplus(-z), log(1 - sigmoid(z)) = -softplus(z)
  const bool turned = found.negative == rest;
  return {found.x, [turned](const Expr& x) { return -softplus(turned ? -x : x); }, true,
          std::move(found.passed)};
}

std::optional<Logarithm> log_of_sum(const Expr& x) {
  const auto found = sum_of_powers(x);
  if (!found) return std::nullopt;
  const DType wide = operand(x).dtype();
  const auto of = [x, wide](const Expr& z) {
    std::vector<tensor::Attr> attrs = x.node()->attrs;
    attrs[static_cast<std::size_t>(x.node()->op->attr_index("kind"))] = std::string("log_sum_exp");
    const Expr terms = cast(z, wide);
    const Expr sum = apply_attrs(ops::reduce_op, {terms}, std::move(attrs), 1).front();
    if (attr(x, "kind").text() == "sum") return sum;
    Expr count = integer(1);
    for (const std::int64_t axis : axes_of(x)) count = count * size(z, static_cast<int>(axis));
    return sum - log(cast(count, wide));
  };
  return Logarithm{operand(found->power), of, false, found->passed};
}

std::optional<Logarithm> log_of(const Expr& x) {
  if (auto found = of_softmax(x)) {
    const auto axis = static_cast<int>(found->axis);
    return Logarithm{found->z, [axis](const Expr& z) { return log_softmax(z, axis); }, false,
                     std::move(found->passed)};
  }
  if (auto found = of_sigmoid(x)) return of_sign(*std::move(found), false);
  if (is(x, ops::exp_op)) return Logarithm{operand(x), [](const Expr& z) { return z; }, true, {x}};
  if (is(x, ops::sub_op) && is_one(operand(x, 0))) {
    const Expr& part = operand(x, 1);
    if (auto found = of_sigmoid(part)) {
      found->passed.push_back(x);
      return of_sign(*std::move(found), true);
    }
    return Logarithm{part, [](const Expr& t) { return log1p(-t); }, true, {x}};
  }
  if (const Expr* const part = beside_one(x)) {
    if (is(*part, ops::exp_op))
      return Logarithm{operand(*part), [](const Expr& z) { return softplus(z); }, true, {x, *part}};
    return Logarithm{*part, [](const Expr& t) { return log1p(t); }, true, {x}};
  }
  return log_of_sum(x);
}

/// Whether x is some elements of its first operand, in any order, of another type at most.
bool moves(const Expr& x) {
  static const ir::OpDef* const kMoves[] = {
      &ops::identity_op, &ops::gather_op,    &ops::gather_nd_op, &ops::gather_elements_op,
      &ops::slice_op,    &ops::transpose_op, &ops::reshape_op,   &ops::flatten_op,
      &ops::squeeze_op,  &ops::expand_op,    &ops::unsqueeze_op, &ops::cast_op,
  };
  const Node& node = *x.node();
  if (std::ranges::find(kMoves, node.op) == std::end(kMoves) || !is(x, *node.op)) return false;
  return is_real(operand(x).dtype());
}

/// The same moves of another tensor of the same sizes.
Expr moved(Expr x, const Values& moves) {
  for (std::size_t i = moves.size(); i-- > 0;) {
    if (is(moves[i], ops::identity_op)) continue;
    Values inputs = moves[i].node()->inputs;
    inputs[0] = x;
    x = with_inputs(*moves[i].node(), std::move(inputs)).front();
    if (x.error() != nullptr) return x;
  }
  return x;
}

/// log(exp(a) + exp(b)), where both are as great even if they are infinite.
StableForm log_of_two_powers(const Expr& x) {
  const Expr &left = operand(x, 0), &right = operand(x, 1);
  const Expr &a = operand(left), &b = operand(right);
  const Expr first = a >= b;
  const Expr greater = where(first, a, b), smaller = where(first, b, a);
  // Two infinities have no difference; NaN is equal to nothing, and stays.
  const Expr apart = where(equal(a, b) & is_inf(a), number(0, a.dtype()), smaller - greater);
  return {greater + softplus(apart), {a, b}, {x, left, right}};
}

StableForm stable_log(const Expr& x) {
  if (is(x, ops::add_op) && is(operand(x, 0), ops::exp_op) && is(operand(x, 1), ops::exp_op))
    return log_of_two_powers(x);
  // What picks elements of softmax(z) picks those of its logarithm.
  constexpr std::size_t kLongest = 16;
  Values way;
  Expr from = x;
  while (way.size() < kLongest && moves(from)) {
    way.push_back(from);
    const Expr inner = operand(from);
    from = inner;
  }
  auto found = log_of(from);
  if (!found) return {};
  found->passed.insert(found->passed.end(), way.begin(), way.end());
  const Expr value = found->pointwise ? found->of(moved(found->argument, way))
                                      : moved(found->of(found->argument), way);
  return {value, {found->argument}, std::move(found->passed)};
}

StableForm stable_log1p(const Expr& x) {
  if (is(x, ops::exp_op)) return {softplus(operand(x)), {operand(x)}, {x}};
  if (!is(x, ops::neg_op)) return {};
  auto found = of_sigmoid(operand(x));
  if (!found) return {};
  found->passed.push_back(x);
  const Logarithm formula = of_sign(*std::move(found), true);
  return {formula.of(formula.argument), {formula.argument}, formula.passed};
}

StableForm stable_div(const Expr& above, const Expr& below) {
  if (auto found = sigmoid_quotient(above, below, {}))
    return {sigmoid(found->value()), {found->x}, std::move(found->passed)};
  if (auto found = softmax_quotient(above, below, {}))
    return {softmax(found->z, static_cast<int>(found->axis)), {found->z}, std::move(found->passed)};
  return {};
}

StableForm stable_sub(const Expr& a, const Expr& b) {
  if (!is(a, ops::exp_op) || !is_one(b)) return {};
  return {expm1(operand(a)), {operand(a)}, {a}};
}

/// After no steps there is no row, but there is a state.
StableForm stable_gather(const Expr& rows, const Expr& index) {
  if (index.rank() != 0) return {};
  const auto last = constant_integers(index);
  if (!last || last->front() != -1) return {};
  const Expr state = last_state(rows);
  if (!state.defined()) return {};
  return {state, {state}, {rows}};
}

}  // namespace

std::unique_ptr<const StableForm> stable_form(const ir::OpDef& op, std::span<const Expr> inputs,
                                              std::span<const tensor::Attr> attrs,
                                              const StaticType& type) {
  StableForm form;
  if (&op == &ops::log_op) form = stable_log(inputs[0]);
  if (&op == &ops::log1p_op) form = stable_log1p(inputs[0]);
  if (&op == &ops::div_op) form = stable_div(inputs[0], inputs[1]);
  if (&op == &ops::sub_op) form = stable_sub(inputs[0], inputs[1]);
  if (&op == &ops::gather_op && attrs[0].integer() == 0) form = stable_gather(inputs[0], inputs[1]);
  const Expr& value = form.value;
  const bool serves = value.defined() && value.error() == nullptr && value.dtype() == type.dtype &&
                      value.rank() == type.rank();
  return serves ? std::make_unique<const StableForm>(std::move(form)) : nullptr;
}

}  // namespace scanloom::expr
