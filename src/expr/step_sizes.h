// Which values of a step may have other sizes in another step: such cannot be rows of a stack.
#pragma once

#include <unordered_set>

#include "expr/node.h"

namespace scanloom::expr {

class StepSizes {
 public:
  StepSizes(const Body& body, const ir::LoopPorts& ports);
  /// For fear of it, also where that is not certain.
  [[nodiscard]] bool vary(const Node& node) const { return sizes_vary_.contains(&node); }

 private:
  void visit(const Node& node);
  [[nodiscard]] bool value_varies(const Expr& x) const {
    return x.defined() && values_vary_.contains(x.node().get());
  }
  [[nodiscard]] bool size_varies(const Expr& x) const {
    return x.defined() && sizes_vary_.contains(x.node().get());
  }

  std::unordered_set<const Node*> values_vary_, sizes_vary_;
};

}  // namespace scanloom::expr
