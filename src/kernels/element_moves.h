// Moves of single elements, each of which has an index of its own: a row of them at a time, with no
// positions kept in between. Used by the kernels over tuples of indices (index_moves.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include <scanloom/dtype.h>

#include "opmath/scatter_reduction.h"

namespace scanloom::kernels {

/// Element i of `other` belongs to the element at indexed + i * indexed_step + index i * stride.
/// All steps are in bytes.
struct ElementRow {
  const std::byte* indices = nullptr;
  std::int64_t index_step = 0;
  std::int64_t size = 0, stride = 0;  ///< of the indexed axis
  std::byte* indexed = nullptr;
  std::int64_t indexed_step = 0;
  std::byte* other = nullptr;
  std::int64_t other_step = 0;
  std::int64_t count = 0;
};

/// Returns how many elements were moved: all of them, or those before the first index out of range.
using MoveElementsFn = std::int64_t (*)(const ElementRow& row);

/// Elements of 1, 2, 4 or 8 bytes; null for others. `wide`: indices of i64, not i32.
MoveElementsFn gather_elements_move(std::size_t bytes, bool wide);
MoveElementsFn scatter_elements_move(std::size_t bytes, bool wide);
/// Null for types that only the reference combines.
MoveElementsFn combine_elements_move(DType dtype, tensor::ScatterReduction reduction, bool wide);

}  // namespace scanloom::kernels
