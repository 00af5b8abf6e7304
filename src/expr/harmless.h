// Which nodes may be computed whether somebody needs them or not: they do not fail, and end.
#pragma once

#include <span>
#include <unordered_set>

#include "expr/node.h"

namespace scanloom::expr {

/// Whether the node asks how many elements its operand has, not which: passes find most sizes
/// without it.
[[nodiscard]] bool reads_sizes_alone(const Node& node);

class Harmless {
 public:
  /// Of nodes that each stand behind those they read.
  explicit Harmless(std::span<const Node* const> nodes);
  [[nodiscard]] bool contains(const Node& node) const { return nodes_.contains(&node); }

 private:
  std::unordered_set<const Node*> nodes_;
};

}  // namespace scanloom::expr
