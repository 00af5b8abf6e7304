// Operators that overwrite part of a tensor, which can be done in place.
#pragma once

#include "ops/ops.h"

namespace scanloom::ops {

/// Whether the result is the first operand with part of it overwritten, as the others determine.
/// The reference kernel of such an operator copies the first operand unless both share their
/// memory, then writes only the part. If it fails, it has not written an element out of range.
[[nodiscard]] inline bool writes_part(const ir::OpDef* op) {
  return op == &scatter_nd_op || op == &scatter_elements_op || op == &scatter_slice_op;
}

}  // namespace scanloom::ops
