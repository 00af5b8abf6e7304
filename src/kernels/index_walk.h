// IndexWalk: the walk over tuples of indices that gather_nd, gather_elements, scatter_nd and
// scatter_elements share. One operand is indexed: a tuple names a position in it; the other has an
// element, or a block, per tuple. Everything about sizes and strides is resolved at binding; a run
// computes the positions of up to kTuples tuples at once, axis by axis, and then moves elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/element_moves.h"
#include "kernels/kernel.h"
#include "tensor/for_each.h"

namespace scanloom::kernels {

struct IndexWalk {
  static constexpr std::int64_t kTuples = 256;
  struct TupleAxis {
    std::int64_t size = 1, stride = 0;  ///< of the indexed operand; the stride is in bytes
  };

  /// The axes of the tuples, which all operands share. Strides are in bytes.
  int rank = 0;
  std::array<std::int64_t, tensor::kMaxRank> dims{}, index_strides{}, indexed_strides{},
      other_strides{};
  /// The axes that a tuple indexes; its numbers are tuple_step bytes apart.
  int length = 1;
  std::array<TupleAxis, tensor::kMaxRank> axes{};
  std::int64_t tuple_step = 0;
  bool wide = true;  ///< i64 indices, not i32

  void add_axis(std::int64_t dim, std::int64_t index, std::int64_t indexed, std::int64_t other);
  [[nodiscard]] std::int64_t tuples() const;
};

/// The positions of `count` tuples: offsets in bytes into the indexed operand, from its first
/// element on, and the first of the other operand with the distance to the next.
struct IndexedRow {
  const std::int64_t* indexed = nullptr;
  std::int64_t other = 0, other_step = 0, count = 0;
};

using MoveRowFn = void (*)(const void* context, const IndexedRow& row);

/// The functions that move rows of tuples.
struct IndexMove {
  MoveRowFn row = nullptr;
  const void* context = nullptr;  ///< of `row`
  /// Instead of `row`, for tuples of one number that name one element; null: there is none.
  MoveElementsFn elements = nullptr;
  std::byte *indexed = nullptr, *other = nullptr;  ///< the first elements of the operands
};

/// Moves rows of tuples in row-major order. An index out of range is a fault; what is before it has
/// been moved by then.
tensor::Status walk_indices(const IndexWalk& walk, const tensor::Call& call,
                            const tensor::Operand& indices, const IndexMove& move);

/// Moves rows in any order, on several threads; otherwise as walk_indices.
tensor::Status walk_indices_threaded(const IndexWalk& walk, const tensor::Call& call,
                                     const tensor::Operand& indices, const IndexMove& move);

}  // namespace scanloom::kernels
