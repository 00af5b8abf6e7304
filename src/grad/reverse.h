// Reverse accumulation over a graph.
#pragma once

#include <set>
#include <vector>

#include "expr/node.h"
#include "expr/substitute.h"
#include "grad/reads.h"

namespace scanloom::autodiff {

/// Which values change with some others, as far as gradients can tell: through operators on reals,
/// not through what is taken as constant.
class Activity {
 public:
  Activity(std::span<const Expr> outputs, std::span<const Expr> wrt,
           std::span<const Expr> constants = {});
  /// Of these nodes alone, each after those it reads.
  Activity(std::vector<const expr::Node*> nodes, std::span<const Expr> wrt,
           std::span<const Expr> constants);
  [[nodiscard]] bool contains(const Expr& x) const {
    return x.defined() && active_.contains(expr::key_of(x));
  }
  /// Nodes that the outputs reach, each after those it reads.
  [[nodiscard]] const std::vector<const expr::Node*>& nodes() const { return nodes_; }

 private:
  [[nodiscard]] bool passes(const expr::Node& node, std::uint32_t output, const Reads& reads) const;

  std::vector<const expr::Node*> nodes_;
  std::set<expr::ExprKey> active_;
};

/// The cotangents of `wrt`; undefined ones are zero. `cotangents` may hold undefined ones, too.
/// Those of `known`, which are among the outputs, are as given: nothing is added to them.
/// Errors: an operator on the way without a rule.
[[nodiscard]] Expected<std::vector<Expr>> pulled_back(std::span<const Expr> outputs,
                                                      std::span<const Expr> cotangents,
                                                      std::span<const Expr> wrt,
                                                      std::span<const Expr> constants = {},
                                                      std::span<const Expr> known = {});

}  // namespace scanloom::autodiff
