// Copies of parts of a graph in which other expressions stand for some.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// A node and which of its outputs, as a key.
struct ExprKey {
  const Node* node = nullptr;
  std::uint32_t output = 0;
  friend auto operator<=>(const ExprKey&, const ExprKey&) = default;
};
[[nodiscard]] inline ExprKey key_of(const Expr& x) { return {x.node().get(), x.output()}; }

using Replacements = std::map<ExprKey, Expr>;

/// The outputs with replacements; nodes that reach none of these are shared. What a node that is
/// made anew reads is in `replacements` afterwards, too.
[[nodiscard]] std::vector<Expr> substituted(const std::vector<Expr>& outputs,
                                            Replacements& replacements);

/// A node like `node` with other operands of the same types and ranks; sizes that inference knows
/// are found anew. Not for leaves.
[[nodiscard]] std::vector<Expr> with_inputs(const Node& node, std::vector<Expr> inputs);

}  // namespace scanloom::expr
