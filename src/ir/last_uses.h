// LastUses: which reads of sequences and optionals are the last in their region, so that the value
// can be moved and changed in place.
#pragma once

#include <vector>

#include "ir/module.h"

namespace scanloom::ir {

class LastUses {
 public:
  explicit LastUses(const Module& module);

  /// Whether the operand may be moved from. If a node reads a value several times, only the last
  /// operand may; captured values of a loop are needed in all of its steps and never may.
  [[nodiscard]] bool of_operand(NodeId node, std::size_t operand) const {
    return at(operands_[node.index], operand);
  }
  [[nodiscard]] bool of_yield(RegionId region, std::size_t yield) const {
    return at(yields_[region.index], yield);
  }

 private:
  static bool at(const std::vector<bool>& flags, std::size_t i) {
    return i < flags.size() && flags[i];
  }
  void look_at(const Module& module, RegionId region, std::vector<bool>& read);

  std::vector<std::vector<bool>> operands_;  // by NodeId; empty: no operand is an object
  std::vector<std::vector<bool>> yields_;    // by RegionId
};

}  // namespace scanloom::ir
