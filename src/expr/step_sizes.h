// Which values of a step may have different sizes in different steps: they cannot be rows of a
// stack.
#pragma once

#include <unordered_set>

#include "expr/node.h"

namespace scanloom::expr {

class StepSizes {
 public:
  StepSizes(const Body& body, const ir::LoopPorts& ports);
  /// Conservative: also true if it is not certain. x may be a result that was added to a loop of
  /// the step later.
  [[nodiscard]] bool vary(const Expr& x) const;

 private:
  void visit(const Node& node);
  [[nodiscard]] bool value_varies(const Expr& x) const {
    return x.defined() && values_vary_.contains(x.node().get());
  }

  /// Nodes whose elements differ from step to step, and nodes whose open sizes do.
  std::unordered_set<const Node*> values_vary_, open_sizes_vary_;
};

}  // namespace scanloom::expr
