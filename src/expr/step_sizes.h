// Which values of a step may have other sizes in another step: such cannot be rows of a stack.
#pragma once

#include <unordered_set>

#include "expr/node.h"

namespace scanloom::expr {

class StepSizes {
 public:
  StepSizes(const Body& body, const ir::LoopPorts& ports);
  /// For fear of it, also where that is not certain. x may be a result that a loop of the step has
  /// been given since.
  [[nodiscard]] bool vary(const Expr& x) const;

 private:
  void visit(const Node& node);
  [[nodiscard]] bool value_varies(const Expr& x) const {
    return x.defined() && values_vary_.contains(x.node().get());
  }

  /// Nodes whose elements differ from step to step; and those whose sizes do where they are open.
  std::unordered_set<const Node*> values_vary_, open_sizes_vary_;
};

}  // namespace scanloom::expr
