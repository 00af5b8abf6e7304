// Sigmoids, softmaxes and sums of exponentials, as operators or written by hand: what stable forms
// are made of (expr/stable.h).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// Whether x is a result of that operator, with the operator's own gradient.
[[nodiscard]] bool is(const Expr& x, const ir::OpDef& op);
[[nodiscard]] const Expr& operand(const Expr& x, std::size_t i = 0);
[[nodiscard]] const tensor::Attr& attr(const Expr& x, std::string_view name);

/// Whether it is the number 1, of no axes.
[[nodiscard]] bool is_one(const Expr& x);
/// What 1 is added to; nullptr where x is no such sum.
[[nodiscard]] const Expr* beside_one(const Expr& x);

/// The sigmoid of x, or of -x, without signs in front of it.
struct OfSigmoid {
  Expr x;
  bool negative = false;
  std::vector<Expr> passed;  ///< what lies between x and the value

  [[nodiscard]] Expr argument() const { return negative ? -x : x; }
};

/// What 1 / (1 + exp(-z)) and exp(z) / (1 + exp(z)) are the sigmoid of.
[[nodiscard]] std::optional<OfSigmoid> sigmoid_quotient(const Expr& above, const Expr& below);
/// The same of an operator, too.
[[nodiscard]] std::optional<OfSigmoid> of_sigmoid(const Expr& x);

/// The softmax of z along an axis.
struct OfSoftmax {
  Expr z;
  std::int64_t axis = 0;
  std::vector<Expr> passed;
};

/// exp(z) / sum(exp(z)) along one axis, which is there with size 1.
[[nodiscard]] std::optional<OfSoftmax> softmax_quotient(const Expr& above, const Expr& below);
/// The same of an operator, too.
[[nodiscard]] std::optional<OfSoftmax> of_softmax(const Expr& x);

/// The axes of a reduce, from the front.
[[nodiscard]] std::vector<std::int64_t> axes_of(const Expr& x);

/// Whether x is some elements of its first operand, in any order, of another type at most.
[[nodiscard]] bool moves(const Expr& x);
/// Whether it may leave out elements, too.
[[nodiscard]] bool picks(const Expr& x);

}  // namespace scanloom::expr
