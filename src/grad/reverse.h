// Reverse accumulation over a graph.
#pragma once

#include <set>
#include <vector>

#include "expr/node.h"
#include "expr/substitute.h"
#include "grad/reads.h"

namespace scanloom::autodiff {

/// Which values change with some others, as far as gradients are concerned: through floating-point
/// operators, but not through what is taken as constant.
class Activity {
 public:
  Activity(std::span<const Expr> outputs, std::span<const Expr> wrt,
           std::span<const Expr> constants = {});
  /// Considers only these nodes, each of which comes after those it reads.
  Activity(std::vector<const expr::Node*> nodes, std::span<const Expr> wrt,
           std::span<const Expr> constants);
  [[nodiscard]] bool contains(const Expr& x) const {
    return x.defined() && active_.contains(expr::key_of(x));
  }
  /// The nodes that the outputs reach, each after those it reads.
  [[nodiscard]] const std::vector<const expr::Node*>& nodes() const { return nodes_; }

 private:
  [[nodiscard]] bool passes(const expr::Node& node, std::uint32_t output, const Reads& reads) const;

  std::vector<const expr::Node*> nodes_;
  std::set<expr::ExprKey> active_;
};

/// Returns the cotangents of `wrt`; undefined ones are zero. `cotangents` may hold undefined ones
/// too. The cotangents of `known`, which are among the outputs, are final: nothing is added to
/// them. Errors: an operator without a rule on the way.
[[nodiscard]] Expected<std::vector<Expr>> pulled_back(std::span<const Expr> outputs,
                                                      std::span<const Expr> cotangents,
                                                      std::span<const Expr> wrt,
                                                      std::span<const Expr> constants = {},
                                                      std::span<const Expr> known = {});

}  // namespace scanloom::autodiff
