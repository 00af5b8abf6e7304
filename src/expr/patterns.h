// Recognises sigmoids, softmaxes and sums of exponentials, as operators or written out. Stable
// forms are made from these (expr/stable.h).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// Whether x is a result of that operator and has the operator's own gradient.
[[nodiscard]] bool is(const Expr& x, const ir::OpDef& op);
[[nodiscard]] const Expr& operand(const Expr& x, std::size_t i = 0);
[[nodiscard]] const tensor::Attr& attr(const Expr& x, std::string_view name);

/// Whether x is the number 1, without axes.
[[nodiscard]] bool is_one(const Expr& x);
/// Returns what 1 is added to; nullptr if x is no such sum.
[[nodiscard]] const Expr* beside_one(const Expr& x);

/// The sigmoid of x, or of -x; x itself has no leading sign.
struct OfSigmoid {
  Expr x;
  bool negative = false;
  std::vector<Expr> passed;  ///< the nodes between x and the value

  [[nodiscard]] Expr argument() const { return negative ? -x : x; }
};

/// Recognises 1 / (1 + exp(-z)) and exp(z) / (1 + exp(z)).
[[nodiscard]] std::optional<OfSigmoid> sigmoid_quotient(const Expr& above, const Expr& below);
/// The same, including the operator.
[[nodiscard]] std::optional<OfSigmoid> of_sigmoid(const Expr& x);

/// The softmax of z along an axis.
struct OfSoftmax {
  Expr z;
  std::int64_t axis = 0;
  std::vector<Expr> passed;
};

/// Recognises exp(z) / sum(exp(z)) along one axis, which the sum keeps with size 1.
[[nodiscard]] std::optional<OfSoftmax> softmax_quotient(const Expr& above, const Expr& below);
/// The same, including the operator.
[[nodiscard]] std::optional<OfSoftmax> of_softmax(const Expr& x);

/// Returns the axes of a reduce, counted from the front.
[[nodiscard]] std::vector<std::int64_t> axes_of(const Expr& x);

/// Whether x holds the elements of its first operand, in any order, possibly in another type.
[[nodiscard]] bool moves(const Expr& x);
/// The same, but x may leave out elements.
[[nodiscard]] bool picks(const Expr& x);

}  // namespace scanloom::expr
