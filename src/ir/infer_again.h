// Inference for other argument types than before: most results stay the same where only some sizes
// change, as those of a cache do from run to run.
#pragma once

#include <span>
#include <vector>

#include "ir/infer.h"

namespace scanloom::ir {

/// Same as infer(), but takes over from `before`, if it is not null, what is the same there:
/// results of nodes of the top region whose operands have the same sizes and known values. `before`
/// is an inference of the same module with the same options; it is used up.
Expected<Inference> infer_again(const Module& module, std::span<const Type> argument_types,
                                DimTable& dims, const InferOptions& options, Inference* before);

/// The part of an earlier inference that is still right. Only values of the top region count: those
/// of nested regions are inferred for several types. Sizes that are not numbers belong to another
/// table of dims.
class InferenceBefore {
 public:
  InferenceBefore(const Module& module, Inference* before)
      : module_(module), before_(before), same_(before != nullptr ? module.value_count() : 0) {}

  /// Moves the node's results to `now` if its operands are the same. Returns whether they are.
  bool take_over(const Node& node, Inference& now);
  /// Compares a value that was inferred with that of before.
  void note(ValueId value, const Inference& now);
  /// Takes nothing over from here on, because inference begins anew.
  void forget() { before_ = nullptr; }

 private:
  const Module& module_;
  Inference* before_;
  std::vector<bool> same_;  // by ValueId
};

}  // namespace scanloom::ir
