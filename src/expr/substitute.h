// Copies parts of a graph with some expressions replaced by others.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// A node and the number of one of its outputs, as a key.
struct ExprKey {
  const Node* node = nullptr;
  std::uint32_t output = 0;
  friend auto operator<=>(const ExprKey&, const ExprKey&) = default;
};
[[nodiscard]] inline ExprKey key_of(const Expr& x) { return {x.node().get(), x.output()}; }

using Replacements = std::map<ExprKey, Expr>;

/// Returns the outputs with the replacements made. Nodes that reach no replaced expression are
/// shared. Afterwards `replacements` also contains everything that the new nodes read.
[[nodiscard]] std::vector<Expr> substituted(const std::vector<Expr>& outputs,
                                            Replacements& replacements);

/// Makes a node like `node` with other operands of the same types and ranks; sizes that inference
/// knows are inferred again. Not for leaves.
[[nodiscard]] std::vector<Expr> with_inputs(const Node& node, std::vector<Expr> inputs);

}  // namespace scanloom::expr
