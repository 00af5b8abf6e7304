// Lifting: computes outside the loop, for all steps at once, what a node of the body computes step
// by step. The steps become one more axis of its operands and its result, and each element is
// computed as before, bit for bit. Used by the passes that move work before or after a loop.
#pragma once

#include <set>
#include <vector>

#include "ir/builder.h"
#include "ops/lift_rules.h"

namespace scanloom::passes {

using ir::Lifted;
using ops::broadcasts_for_sure;
using ops::repeated;
using ops::with_steps_along;

/// Distinguishes sizes that are known before a run begins from those that depend on data or steps.
class KnownSizes {
 public:
  explicit KnownSizes(const ir::Module& module);
  [[nodiscard]] bool has(const tensor::DimTable& dims, ir::Dim dim) const;
  /// Whether the value is a tensor of known rank whose sizes are all known.
  [[nodiscard]] bool has(const ir::Module& module, ir::ValueId value) const;

 private:
  std::set<ir::Dim> given_;  ///< unnamed sizes of the module's inputs
};

/// Whether the node can be lifted, as its operator's rule says, without failing where no step
/// fails, for any sizes. varies[i]: operand i will be a sequence; at least one will.
bool can_lift(ir::Module& module, const KnownSizes& sizes, ir::NodeId node,
              const std::vector<bool>& varies);

/// Appends the nodes that compute the results of a node from its lifted operands. A result is
/// invalid if nothing reads it. If several operands are sequences, their steps are in the same
/// order. Precondition: can_lift. Errors: internal.
Expected<std::vector<Lifted>> lift(ir::Builder& builder, ir::NodeId node,
                                   const std::vector<Lifted>& operands);

/// Returns the type of a sequence whose elements have the type `element`.
ir::Type sequence_type(const ir::Type& element, int axis, ir::Dim steps);

}  // namespace scanloom::passes
