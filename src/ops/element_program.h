// The rules by which a loop's body is one element program over equal lanes. Both ask that know a
// body: passes while its sizes may be symbols, the planner (plan/codegen/body_program.h) when they
// are numbers. A rule that differed would make a pass prepare a body that is then not compiled.
#pragma once

#include "ir/op_def.h"

namespace scanloom::ops {

/// Whether nodes of the operator may be part of an element program: they compute each element from
/// those at the same position, or rename the elements of their operand. The latter must also keep
/// their order, which may depend on sizes.
[[nodiscard]] inline bool joins_element_program(const ir::OpDef& op) {
  return op.scalar != nullptr || op.view != nullptr;
}

/// The number of lanes: that of the elements of all values that have more than one. `Count`: an
/// integer, or tensor::Dim for sizes that the inputs decide.
template <class Count>
class EqualLanes {
 public:
  /// Adds a value of so many elements. Returns whether it fits those that were added before.
  bool add(const Count& elements) {
    if (elements == Count(1) || elements == lanes_) return true;
    if (lanes_ != Count(1)) return false;
    lanes_ = elements;
    return true;
  }
  [[nodiscard]] const Count& lanes() const { return lanes_; }

 private:
  Count lanes_ = Count(1);
};

}  // namespace scanloom::ops
