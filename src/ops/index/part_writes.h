// Operators that overwrite a part of a tensor, which can be done in place.
#pragma once

#include "ops/ops.h"

namespace scanloom::ops {

/// Whether the result is the first operand with a part of it written over, by what the others say.
/// The reference kernel of such an operator copies the first operand, unless both lie in one place,
/// and then writes the part alone; it fails, if it does, before it has written an element outside.
[[nodiscard]] inline bool writes_part(const ir::OpDef* op) {
  return op == &scatter_nd_op || op == &scatter_elements_op || op == &scatter_slice_op;
}

}  // namespace scanloom::ops
