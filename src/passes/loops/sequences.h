// Sequences of what a loop's body computes: rows that the loop stacks, tensors that it scans from
// end to end, and rows that it is made to stack. Used by the passes that move work after a loop.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "passes/rewrite/outside.h"

namespace scanloom::passes {

/// The sequences of one loop whose elements are in the same order.
class StepSequences {
 public:
  /// Finds the stacked rows of known sizes. `steps`: how many there are; nullopt: as many as the
  /// first such rows. `reverse`: the element of the last step comes first.
  StepSequences(ir::Module& module, ir::NodeId loop, const KnownSizes& sizes, bool reverse,
                std::optional<ir::Dim> steps = std::nullopt);

  /// The stacked ports that were found.
  [[nodiscard]] const std::vector<std::size_t>& ports() const { return ports_; }
  /// Precondition: `steps` was given, or there are ports.
  [[nodiscard]] ir::Dim steps() const { return *steps_; }

  /// Whether the value of the body is stacked, or scanned from end to end.
  [[nodiscard]] bool has(ir::ValueId value) const {
    return stacked_as_.contains(value) || scanned_as(value);
  }
  /// Stacks further values, along that axis if they have it. Precondition: has() none of them.
  void stack(const std::vector<ir::ValueId>& values, std::int64_t axis);
  /// Removes what stack() has added.
  void unstack();
  /// Sets the value's counterpart outside. Precondition: has(value). Errors: internal.
  Expected<void> enter(Outside& outside, ir::ValueId value) const;

 private:
  [[nodiscard]] const ir::LoopPorts& loop_ports() const { return *module_.node(loop_).loop; }
  [[nodiscard]] std::optional<std::size_t> scanned_as(ir::ValueId value) const;
  void find_ports(const KnownSizes& sizes);

  ir::Module& module_;
  const ir::NodeId loop_;
  const bool reverse_;
  std::optional<ir::Dim> steps_;
  std::size_t stacked_before_;  ///< number of ports at the beginning
  std::vector<std::size_t> ports_;
  std::map<ir::ValueId, std::size_t> stacked_as_;  ///< the port that stacks the value
};

}  // namespace scanloom::passes
