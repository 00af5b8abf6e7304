// The operands of products of quantized matrices, as the operator integer_matmul and its kernel
// read them.
#pragma once

#include <cstdint>

#include "tensor/call.h"

namespace scanloom::tensor::integer_matmul {

/// Operands of the node.
enum Input : std::uint8_t { kA, kB, kAZero, kBZero, kScale, kBias, kYZero };

/// The offset of a column's parameter: a parameter with one element applies to all columns.
inline std::int64_t of_column(const Operand& operand, std::int64_t column) {
  return operand.rank == 1 && operand.dims[0] != 1 ? column * operand.strides[0] : 0;
}

/// Returns the strides of a matrix operand by the axes of the result: of its batch axes, which
/// broadcast, and of its axis `kept`, at the same distance from the end; 0 for the other one.
inline Shape strides_of(const Operand& matrix, const Operand& y, int kept) {
  Shape strides;
  for (int axis = 0; axis < y.rank; ++axis) {
    const int own = axis - y.rank + matrix.rank;
    const bool is_batch = axis < y.rank - 2;
    const bool walks = own >= 0 && matrix.dims[own] != 1 && (is_batch || own == kept);
    strides.push_back(walks ? matrix.strides[own] : 0);
  }
  return strides;
}

}  // namespace scanloom::tensor::integer_matmul
