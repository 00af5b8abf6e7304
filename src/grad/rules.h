// The rule of each operator: how cotangents of its results become cotangents of its operands. A
// rule reads like its formula; operators without one say why.
#pragma once

#include <string_view>
#include <vector>

#include "expr/node.h"

namespace scanloom::autodiff {

/// What a rule sees of one node, and what it gives.
struct Pull {
  const expr::NodePtr& node;
  std::vector<Expr> cotangents;  ///< by output; undefined: zero
  std::vector<bool> wanted;      ///< by input
  std::vector<Expr> result;      ///< by input; undefined: zero

  [[nodiscard]] const Expr& in(std::size_t i) const { return node->inputs[i]; }
  [[nodiscard]] Expr out(std::uint32_t i = 0) const { return Expr(node, i); }
  [[nodiscard]] const Expr& g(std::size_t i = 0) const { return cotangents[i]; }
  [[nodiscard]] const tensor::Attr& attr(std::string_view name) const;
  /// Sets the cotangent of input i, which may have the sizes of the result: it is summed over what
  /// broadcasting has added.
  void give(std::size_t i, const Expr& cotangent);
};

using Rule = void (*)(Pull&);

struct RuleRow {
  const ir::OpDef* op;
  Rule rule;                     ///< null: there is none
  std::string_view reason = {};  ///< why there is none
  /// Whether the result does not change where the operands change a little: its cotangent is lost.
  bool constant = false;
};

/// nullptr: no row, an operator that nobody has thought of.
[[nodiscard]] const RuleRow* find_rule(const ir::OpDef& op);

/// Rows by subject.
[[nodiscard]] std::span<const RuleRow> elementwise_rules();
[[nodiscard]] std::span<const RuleRow> reduction_rules();
[[nodiscard]] std::span<const RuleRow> product_rules();
[[nodiscard]] std::span<const RuleRow> convolution_rules();
[[nodiscard]] std::span<const RuleRow> pool_rules();
[[nodiscard]] std::span<const RuleRow> recurrent_rules();
[[nodiscard]] std::span<const RuleRow> matrix_rules();
[[nodiscard]] std::span<const RuleRow> shape_rules();
[[nodiscard]] std::span<const RuleRow> index_rules();
[[nodiscard]] std::span<const RuleRow> complex_rules();
[[nodiscard]] std::span<const RuleRow> remaining_rules();

/// The sum of two cotangents of one value. One that is zero but for some elements is added to the
/// other where these are, which a loop can do in place.
[[nodiscard]] Expr added(const Expr& a, const Expr& b);

/// x with two of its axes in each other's place.
[[nodiscard]] Expr with_axes_swapped(const Expr& x, std::int64_t a, std::int64_t b);

/// Of a loop, whose body is differentiated. Branches: grad/reverse.cpp.
void pull_loop(Pull& pull);

}  // namespace scanloom::autodiff
