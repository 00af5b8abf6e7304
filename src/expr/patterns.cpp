#include "expr/patterns.h"

#include "ops/ops.h"

namespace scanloom::expr {
namespace {

using Values = std::vector<Expr>;

/// Whether x is a cast between floating-point types, which at most rounds.
bool keeps_numbers(const Expr& x) {
  return is(x, ops::cast_op) && is_floating_point(operand(x).dtype()) &&
         is_floating_point(x.dtype());
}

OfSigmoid without_sign(const Expr& of, bool negative, Values passed) {
  OfSigmoid found{of, negative, std::move(passed)};
  while (is(found.x, ops::neg_op)) {
    found.passed.push_back(found.x);
    const Expr inner = operand(found.x);
    found.x = inner;
    found.negative = !found.negative;
  }
  return found;
}

/// A sum of exponentials.
struct SumOfPowers {
  Expr power;  ///< the exponential
  Values passed;
};

std::optional<SumOfPowers> sum_of_powers(const Expr& x) {
  if (!is(x, ops::reduce_op) || x.node()->inputs.size() != 1 || attr(x, "kind").text() != "sum")
    return std::nullopt;
  SumOfPowers found{.power = operand(x), .passed = {x}};
  if (keeps_numbers(found.power)) {
    found.passed.push_back(found.power);
    const Expr narrow = operand(found.power);
    found.power = narrow;
  }
  if (!is(found.power, ops::exp_op)) return std::nullopt;
  found.passed.push_back(found.power);
  return found;
}

/// Returns the operator of a node that `is` may be true of; nullptr for others.
const ir::OpDef* plain_op(const Expr& x) {
  const Node& node = *x.node();
  return node.marks_gradient() ? nullptr : node.op;
}

}  // namespace

bool is(const Expr& x, const ir::OpDef& op) {
  const Node& node = *x.node();
  return node.op == &op && !node.marks_gradient();
}

const Expr& operand(const Expr& x, std::size_t i) { return x.node()->inputs[i]; }

const tensor::Attr& attr(const Expr& x, std::string_view name) {
  return x.node()->attrs[static_cast<std::size_t>(x.node()->op->attr_index(name))];
}

bool is_one(const Expr& x) {
  if (x.node()->kind != Kind::constant || x.rank() != 0) return false;
  const Expr wide = cast(x, DType::f64);
  return wide.node()->kind == Kind::constant && wide.node()->value.as<double>()[0] == 1.0;
}

const Expr* beside_one(const Expr& x) {
  if (!is(x, ops::add_op)) return nullptr;
  if (is_one(operand(x, 0))) return &operand(x, 1);
  return is_one(operand(x, 1)) ? &operand(x, 0) : nullptr;
}

std::optional<OfSigmoid> sigmoid_quotient(const Expr& above, const Expr& below) {
  const Expr* const power = beside_one(below);
  if (power == nullptr || !is(*power, ops::exp_op)) return std::nullopt;
  Values passed{below, *power};
  if (is_one(above)) return without_sign(operand(*power), true, std::move(passed));
  if (!is(above, ops::exp_op) || !(operand(above) == operand(*power))) return std::nullopt;
  passed.push_back(above);
  return without_sign(operand(*power), false, std::move(passed));
}

std::optional<OfSigmoid> of_sigmoid(const Expr& x) {
  if (is(x, ops::sigmoid_op)) return without_sign(operand(x), false, {x});
  if (!is(x, ops::div_op)) return std::nullopt;
  auto found = sigmoid_quotient(operand(x, 0), operand(x, 1));
  if (found) found->passed.push_back(x);
  return found;
}

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

std::optional<OfSoftmax> softmax_quotient(const Expr& above, const Expr& divisor) {
  if (!is(above, ops::exp_op)) return std::nullopt;
  Values passed{above};
  Expr below = divisor;
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
  if (!sum || !(operand(sum->power) == operand(above))) return std::nullopt;
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
  auto found = softmax_quotient(operand(x, 0), operand(x, 1));
  if (found) found->passed.push_back(x);
  return found;
}

bool moves(const Expr& x) {
  const ir::OpDef* const op = plain_op(x);
  const bool is_view = op != nullptr && op->access == ir::Access::view;
  return (is_view || op == &ops::cast_op || picks(x)) && is_floating_point(operand(x).dtype());
}

bool picks(const Expr& x) {
  const ir::OpDef* const op = plain_op(x);
  return op != nullptr && (op->picks || op == &ops::slice_op);
}

}  // namespace scanloom::expr
