#include "expr/stable_log.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "expr/apply.h"
#include "expr/patterns.h"
#include "expr/substitute.h"
#include "ops/ops.h"

namespace scanloom::expr {
namespace {

using Values = std::vector<Expr>;

/// The logarithm of a value by another formula.
struct Logarithm {
  Expr value;
  /// Whether the value is nowhere negative, so that the logarithm of a product is a sum.
  bool positive = true;
  /// Whether it cannot overflow.
  bool bounded = false;
  /// Whether the gradient is finite even for elements that are not picked.
  bool everywhere = true;
};

/// A logarithm that is a function of each element of the argument, so that moves may come first.
struct Pointwise {
  Expr argument;
  std::function<Expr(const Expr&)> of;
  bool positive = true, bounded = false, everywhere = true;
};

/// Returns the elements of a constant; empty if x is none, or has too many.
std::vector<double> constant_numbers(const Expr& x) {
  Expr from = x;
  while (moves(from)) {
    const Expr inner = operand(from);
    from = inner;
  }
  if (from.node()->kind != Kind::constant) return {};
  const Expr wide = cast(from, DType::f64);
  if (wide.node()->kind != Kind::constant) return {};
  const auto numbers = wide.node()->value.as<double>();
  return {numbers.begin(), numbers.end()};
}

bool is_nonnegative_constant(const Expr& x) {
  const std::vector<double> numbers = constant_numbers(x);
  return !numbers.empty() && std::ranges::all_of(numbers, [](double number) {
    return number >= 0 && std::isfinite(number);
  });
}

/// Makes the logarithm of x as it is: a better form has been searched for already.
Expr plain_log(const Expr& x) { return apply_as_written(ops::log_op, {x}); }

/// log(exp(a) + exp(b)), also for two equal infinities.
Expr log_of_two_powers(const Expr& a, const Expr& b) {
  const Expr first = a >= b;
  const Expr greater = where(first, a, b), smaller = where(first, b, a);
  // Two infinities have no difference; NaN equals nothing, and stays.
  const Expr apart = where(equal(a, b) & is_inf(a), number(0, a.dtype()), smaller - greater);
  return greater + softplus(apart);
}

/// A search from a value back to the values from which its logarithm is better computed.
class LogSearch {
 public:
  std::optional<Logarithm> log_of(const Expr& x) {
    return found_where(x, [](const Logarithm&) { return true; });
  }

  /// log(1 + x) where x may overflow.
  std::optional<Logarithm> log_beside_one(const Expr& x) {
    auto part =
        found_where(x, [](const Logarithm& found) { return found.positive && !found.bounded; });
    if (part) part->value = softplus(part->value);
    return part;
  }

  StableForm form(Expr value) && {
    return {std::move(value), std::move(arguments_), std::move(passed_)};
  }

 private:
  // Limits of the search: graphs may be arbitrarily deep and share any number of nodes.
  static constexpr int kDeepest = 24, kVisits = 200;

  void pass(const Expr& x) { passed_.push_back(x); }
  void pass(const Values& all) { passed_.insert(passed_.end(), all.begin(), all.end()); }

  template <class Serves>
  std::optional<Logarithm> found_where(const Expr& x, const Serves& serves) {
    if (depth_ == kDeepest || budget_-- <= 0) return std::nullopt;
    const std::size_t arguments = arguments_.size(), passed = passed_.size();
    ++depth_;
    auto found = through_moves(x);
    --depth_;
    if (found && serves(*found)) return found;
    arguments_.resize(arguments);
    passed_.resize(passed);
    return std::nullopt;
  }

  std::optional<Logarithm> through_moves(const Expr& x) {
    constexpr std::size_t kLongest = 16;
    Values way;
    Expr from = x;
    bool leaves_out = false;
    while (way.size() < kLongest && moves(from)) {
      way.push_back(from);
      leaves_out |= picks(from);
      const Expr inner = operand(from);
      from = inner;
    }
    pass(way);
    pass(from);
    const auto of_moved = [&](const Pointwise& found) {
      arguments_.push_back(found.argument);
      return Logarithm{found.of(moved(found.argument, way)), found.positive, found.bounded,
                       found.everywhere};
    };
    if (const auto found = pointwise(from)) return of_moved(*found);
    if (auto found = composed(from)) {
      if (leaves_out && !found->everywhere) return std::nullopt;
      found->value = moved(found->value, way);
      return found;
    }
    if (const auto found = near_one(from)) return of_moved(*found);
    return std::nullopt;
  }

  /// Applies the same moves to another tensor of the same sizes.
  static Expr moved(Expr x, const Values& moves) {
    for (std::size_t i = moves.size(); i-- > 0;) {
      if (is(moves[i], ops::identity_op)) continue;
      Values inputs = moves[i].node()->inputs;
      inputs[0] = x;
      x = with_inputs(*moves[i].node(), std::move(inputs)).front();
      if (x.error() != nullptr) return x;
    }
    return x;
  }

  static Pointwise of_sign(const OfSigmoid& found, bool rest) {
    // log(sigmoid(z)) = -softplus(-z), log(1 - sigmoid(z)) = -softplus(z)
    const bool negated = found.negative == rest;
    return {.argument = found.x,
            .of = [negated](const Expr& z) { return -softplus(negated ? -z : z); },
            .bounded = true};
  }

  std::optional<Pointwise> pointwise(const Expr& x) {
    if (is(x, ops::exp_op)) return Pointwise{operand(x), [](const Expr& z) { return z; }};
    if (auto found = of_sigmoid(x)) {
      pass(found->passed);
      return of_sign(*found, false);
    }
    if (is(x, ops::sub_op) && is_one(operand(x, 0))) {
      const Expr& part = operand(x, 1);
      if (auto found = of_sigmoid(part)) {
        pass(found->passed);
        return of_sign(*found, true);
      }
      return std::nullopt;
    }
    const Expr* const part = beside_one(x);
    if (part == nullptr || !is(*part, ops::exp_op)) return std::nullopt;
    pass(*part);
    return Pointwise{operand(*part), [](const Expr& z) { return softplus(z); }};
  }

  /// 1 + t and 1 - t for any t.
  static std::optional<Pointwise> near_one(const Expr& x) {
    const auto of = [](const Expr& part, bool negated) {
      const auto log = [negated](const Expr& t) {
        return apply_as_written(ops::log1p_op, {negated ? -t : t});
      };
      return Pointwise{part, log, false, false, false};
    };
    if (is(x, ops::sub_op) && is_one(operand(x, 0))) return of(operand(x, 1), true);
    if (const Expr* const part = beside_one(x)) return of(*part, false);
    return std::nullopt;
  }

  std::optional<Logarithm> composed(const Expr& x) {
    if (const auto found = of_softmax(x)) {
      arguments_.push_back(found->z);
      pass(found->passed);
      return Logarithm{.value = log_softmax(found->z, static_cast<int>(found->axis)),
                       .bounded = true};
    }
    if (is(x, ops::mul_op)) return of_product(operand(x, 0), operand(x, 1), false);
    if (is(x, ops::div_op)) return of_product(operand(x, 0), operand(x, 1), true);
    if (is(x, ops::pow_op)) return of_power(operand(x, 0), operand(x, 1));
    if (is(x, ops::sqrt_op)) return of_power(operand(x), number(0.5, x.dtype()));
    if (is(x, ops::add_op)) return of_sum(operand(x, 0), operand(x, 1));
    if (is(x, ops::where_op)) return of_choice(operand(x, 0), operand(x, 1), operand(x, 2));
    if (is(x, ops::concat_op)) return of_joined(x);
    if (is(x, ops::reduce_op) && x.node()->inputs.size() == 1) return of_reduced(x);
    return std::nullopt;
  }

  /// The plain logarithm of an operand without a better form, which is read together with others.
  Logarithm of_rest(const Expr& x) {
    const bool is_known = is_nonnegative_constant(x);
    if (!is_known) arguments_.push_back(x);
    return {plain_log(x), is_known, is_known, is_known};
  }

  std::optional<Logarithm> of_product(const Expr& a, const Expr& b, bool divides) {
    const auto left = log_of(a), right = a == b && !divides ? left : log_of(b);
    // Of two negative factors, neither has a logarithm.
    if (!(left && left->positive) && !(right && right->positive)) return std::nullopt;
    const Logarithm below = right ? *right : of_rest(b);
    if (divides && is_one(a))
      return Logarithm{-below.value, below.positive, false, below.everywhere};
    const Logarithm above = left ? *left : of_rest(a);
    const bool is_divided = divides && !is_nonnegative_constant(b);
    return Logarithm{divides ? above.value - below.value : above.value + below.value,
                     above.positive && below.positive,
                     above.bounded && below.bounded && !is_divided,
                     above.everywhere && below.everywhere};
  }

  std::optional<Logarithm> of_power(const Expr& base, const Expr& exponent) {
    auto found = log_of(base);
    if (!found || !found->positive) return std::nullopt;
    const std::vector<double> numbers = constant_numbers(exponent);
    const Expr power = cast(exponent, found->value.dtype());
    const Expr value = power * found->value;
    // Anything to the power 0 is 1, including 0.
    const bool may_be_zero = numbers.empty() || std::ranges::find(numbers, 0.0) != numbers.end();
    const Expr zero = number(0, power.dtype());
    found->value = may_be_zero ? where(equal(power, zero), zero, value) : value;
    found->bounded &= is_nonnegative_constant(exponent);
    if (numbers.empty()) arguments_.push_back(exponent);
    return found;
  }

  std::optional<Logarithm> of_sum(const Expr& a, const Expr& b) {
    if (const Expr* const one = is_one(a) ? &b : is_one(b) ? &a : nullptr)
      return log_beside_one(*one);
    const auto left = log_of(a), right = log_of(b);
    if ((left && !left->positive) || (right && !right->positive)) return std::nullopt;
    if (!left && !right) return std::nullopt;
    // A number added to something that cannot overflow keeps the sum away from zero.
    if (!left && (right->bounded || !is_nonnegative_constant(a))) return std::nullopt;
    if (!right && (left->bounded || !is_nonnegative_constant(b))) return std::nullopt;
    const Logarithm first = left ? *left : of_rest(a), second = right ? *right : of_rest(b);
    return Logarithm{log_of_two_powers(first.value, second.value), true,
                     first.bounded && second.bounded, first.everywhere && second.everywhere};
  }

  std::optional<Logarithm> of_choice(const Expr& condition, const Expr& a, const Expr& b) {
    const auto is_everywhere = [](const Logarithm& found) { return found.everywhere; };
    const auto left = found_where(a, is_everywhere), right = found_where(b, is_everywhere);
    if (!left && !right) return std::nullopt;
    // If the other region is taken, the gradient would be 0 times infinity.
    const auto rest = [&](const Expr& side, bool when) {
      if (is_nonnegative_constant(side)) return of_rest(side);
      arguments_.push_back(side);
      const Expr one = number(1, side.dtype());
      return Logarithm{plain_log(when ? where(condition, side, one) : where(condition, one, side)),
                       false, false, false};
    };
    const Logarithm first = left ? *left : rest(a, true), second = right ? *right : rest(b, false);
    return Logarithm{where(condition, first.value, second.value), first.positive && second.positive,
                     first.bounded && second.bounded, first.everywhere && second.everywhere};
  }

  std::optional<Logarithm> of_joined(const Expr& x) {
    std::vector<std::optional<Logarithm>> parts;
    for (const Expr& part : x.node()->inputs) parts.push_back(log_of(part));
    if (std::ranges::none_of(parts, [](const auto& part) { return part.has_value(); }))
      return std::nullopt;
    Logarithm all{.value = {}, .bounded = true};
    Values values;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Logarithm part = parts[i] ? *parts[i] : of_rest(operand(x, i));
      values.push_back(part.value);
      all.positive &= part.positive;
      all.bounded &= part.bounded;
      all.everywhere &= part.everywhere;
    }
    all.value = with_inputs(*x.node(), std::move(values)).front();
    return all;
  }

  /// For sums, means and products along axes.
  std::optional<Logarithm> of_reduced(const Expr& x) {
    const std::string& kind = attr(x, "kind").text();
    if (kind != "sum" && kind != "mean" && kind != "prod") return std::nullopt;
    auto found = log_of(operand(x));
    if (!found || !found->positive) return std::nullopt;
    const bool multiplies = kind == "prod";
    std::vector<tensor::Attr> attrs = x.node()->attrs;
    attrs[static_cast<std::size_t>(x.node()->op->attr_index("kind"))] =
        std::string(multiplies ? "sum" : "log_sum_exp");
    found->value = apply_attrs(ops::reduce_op, {found->value}, std::move(attrs), 1).front();
    if (kind == "mean") {
      Expr count = integer(1);
      for (const std::int64_t axis : axes_of(x))
        count = count * size(operand(x), static_cast<int>(axis));
      found->value = found->value - log(cast(count, x.dtype()));
    }
    return found;
  }

  Values arguments_, passed_;
  int depth_ = 0, budget_ = kVisits;
};

}  // namespace

StableForm stable_log(const Expr& x) {
  LogSearch search;
  const auto found = search.log_of(x);
  return found ? std::move(search).form(found->value) : StableForm{};
}

StableForm stable_log1p(const Expr& x) {
  if (is(x, ops::neg_op)) return of_sigmoid(operand(x)) ? stable_log(1 - operand(x)) : StableForm{};
  LogSearch search;
  const auto found = search.log_beside_one(x);
  return found ? std::move(search).form(found->value) : StableForm{};
}

}  // namespace scanloom::expr
