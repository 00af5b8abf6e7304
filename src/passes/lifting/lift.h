// Lifting: what a node of a body computes step by step, computed outside the loop for all steps at
// once. The steps are one more axis of its operands and of its result, and each element is computed
// as before, bit for bit. Used by the passes that move work before or behind a loop.
#pragma once

#include <set>
#include <vector>

#include "ir/builder.h"

namespace scanloom::passes {

/// What stands outside of a loop for a value of its body: one value for all steps, or a sequence,
/// whose elements along `axis` are the values of the steps in some order.
struct Lifted {
  static constexpr int kSame = -1;

  ir::ValueId value;  ///< invalid for an operand that is absent
  int axis = kSame;
  [[nodiscard]] bool is_sequence() const { return axis >= 0; }
};

/// Tells sizes that are known before a run begins from those that data or steps decide.
class KnownSizes {
 public:
  explicit KnownSizes(const ir::Module& module);
  [[nodiscard]] bool has(const tensor::DimTable& dims, ir::Dim dim) const;
  /// A tensor, ranked, all of its sizes known.
  [[nodiscard]] bool has(const ir::Module& module, ir::ValueId value) const;

 private:
  std::set<ir::Dim> given_;  ///< sizes without names that the inputs of the module have
};

/// Whether the node's operator can be lifted and fails, if it may, only where a step fails,
/// whatever the sizes are. varies[i]: operand i will be a sequence; at least one will.
bool can_lift(ir::Module& module, const KnownSizes& sizes, ir::NodeId node,
              const std::vector<bool>& varies);

/// Whether every size of every operand of a pointwise node is that of the result or 1: it cannot
/// fail. Precondition: all are ranked.
bool broadcasts_for_sure(const ir::Module& module, const ir::Node& node);

/// Appends what computes the results of a node from its lifted operands; invalid ones stand for
/// results that nothing reads. Where more than one operand is a sequence, their steps are in the
/// same order. Precondition: can_lift. Errors: internal.
Expected<std::vector<Lifted>> lift(ir::Builder& builder, ir::NodeId node,
                                   const std::vector<Lifted>& operands);

/// A value that is the same in all steps, as a sequence of as many as another one has: a view.
Expected<Lifted> repeated(ir::Builder& builder, ir::ValueId value, const Lifted& like);

/// The sequence with its steps along another axis: a view.
Expected<ir::ValueId> with_steps_along(ir::Builder& builder, const Lifted& sequence, int axis);

/// The type of a sequence whose elements have the type `element`.
ir::Type sequence_type(const ir::Type& element, int axis, ir::Dim steps);

}  // namespace scanloom::passes
