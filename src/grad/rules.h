// The rule of each operator: how cotangents of its results become cotangents of its operands. A
// rule reads like its formula. Operators without a rule state the reason.
#pragma once

#include <string_view>
#include <vector>

#include "expr/node.h"

namespace scanloom::autodiff {

/// The operands and results of a rule for one node.
struct Pull {
  const expr::NodePtr& node;
  std::vector<Expr> cotangents;  ///< by output; undefined: zero
  std::vector<bool> wanted;      ///< by input
  std::vector<Expr> result;      ///< by input; undefined: zero

  [[nodiscard]] const Expr& in(std::size_t i) const { return node->inputs[i]; }
  [[nodiscard]] Expr out(std::uint32_t i = 0) const { return Expr(node, i); }
  [[nodiscard]] const Expr& g(std::size_t i = 0) const { return cotangents[i]; }
  [[nodiscard]] const tensor::Attr& attr(std::string_view name) const;
  /// Sets the cotangent of input i. It may have the sizes of the result: it is summed over the axes
  /// that were broadcast.
  void give(std::size_t i, const Expr& cotangent);
};

using Rule = void (*)(Pull&);

struct RuleRow {
  const ir::OpDef* op;
  Rule rule;                     ///< null: no rule
  std::string_view reason = {};  ///< why there is no rule
  /// Whether small changes of the operands do not change the result, so that its cotangent is
  /// dropped.
  bool constant = false;
};

/// nullptr: the operator has no row.
[[nodiscard]] const RuleRow* find_rule(const ir::OpDef& op);

/// Rows by subject.
[[nodiscard]] std::span<const RuleRow> elementwise_rules();
[[nodiscard]] std::span<const RuleRow> reduction_rules();
[[nodiscard]] std::span<const RuleRow> product_rules();
[[nodiscard]] std::span<const RuleRow> convolution_rules();
[[nodiscard]] std::span<const RuleRow> pool_rules();
[[nodiscard]] std::span<const RuleRow> recurrent_rules();
[[nodiscard]] std::span<const RuleRow> matrix_rules();
[[nodiscard]] std::span<const RuleRow> fourier_rules();
[[nodiscard]] std::span<const RuleRow> shape_rules();
[[nodiscard]] std::span<const RuleRow> index_rules();
[[nodiscard]] std::span<const RuleRow> complex_rules();
[[nodiscard]] std::span<const RuleRow> remaining_rules();

/// Returns the sum of two cotangents of one value. If one is zero except for some elements, only
/// those are added to the other, which a loop can do in place.
[[nodiscard]] Expr added(const Expr& a, const Expr& b);

/// Returns x with two of its axes swapped.
[[nodiscard]] Expr with_axes_swapped(const Expr& x, std::int64_t a, std::int64_t b);

/// The rule of loops: differentiates the body. Branches: grad/reverse.cpp.
void pull_loop(Pull& pull);

}  // namespace scanloom::autodiff
