// Which nodes may be computed whether or not they are needed: they cannot fail, and they terminate.
#pragma once

#include <span>
#include <unordered_set>

#include "expr/node.h"

namespace scanloom::expr {

/// Whether the node only reads its operand's sizes, not its elements: passes find most sizes
/// without computing the operand.
[[nodiscard]] bool reads_sizes_alone(const Node& node);

class Harmless {
 public:
  /// `nodes`: each comes after those it reads.
  explicit Harmless(std::span<const Node* const> nodes);
  [[nodiscard]] bool contains(const Node& node) const { return nodes_.contains(&node); }

 private:
  std::unordered_set<const Node*> nodes_;
};

}  // namespace scanloom::expr
