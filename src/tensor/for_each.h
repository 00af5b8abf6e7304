// Iterates over the index space of up to kMaxRank axes with several strided operands at once,
// without allocating. Offsets and strides are in elements and may be zero or negative.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "tensor/shape.h"

namespace scanloom::tensor {

/// The strides with which an operand is broadcast to `result`, as in numpy: axes align at the end,
/// axes of size 1 get stride 0. Precondition: it broadcasts.
inline Shape broadcast_strides(std::span<const std::int64_t> dims,
                               std::span<const std::int64_t> strides,
                               std::span<const std::int64_t> result) {
  Shape aligned = Shape::filled(static_cast<int>(result.size()), 0);
  const std::size_t missing = result.size() - dims.size();
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    aligned[static_cast<int>(axis + missing)] = dims[axis] == 1 ? 0 : strides[axis];
  return aligned;
}

/// Visits the rows of an index space in row-major order. Neighbouring axes that every operand walks
/// with one stride are joined first, so a row may span several axes. kOperands: the maximum number
/// of operands.
///
///   RowCursor<2> rows(dims);
///   rows.add(strides_a); rows.add(strides_b);
///   for (rows.start(); !rows.done(); rows.next())
///     for (i < rows.length()) use(a[rows.offset(0) + i * rows.step(0)], ...);
template <std::size_t kOperands>
class RowCursor {
 public:
  /// Precondition: dims.size() <= kMaxRank.
  explicit RowCursor(std::span<const std::int64_t> dims) {
    for (const std::int64_t dim : dims) {
      dims_[rank_++] = dim;
      empty_ |= dim == 0;
    }
  }

  /// Adds an operand with its stride per axis. Precondition: fewer than kOperands so far.
  void add(const std::int64_t* strides) {
    SCANLOOM_ASSERT(count_ < kOperands);
    for (std::size_t axis = 0; axis < rank_; ++axis) strides_[count_][axis] = strides[axis];
    ++count_;
  }

  void start() {
    join_axes();
    done_ = empty_;
    index_.fill(0);
    offsets_.fill(0);
  }
  [[nodiscard]] bool done() const { return done_; }
  /// Elements of one row, equal for all operands.
  [[nodiscard]] std::int64_t length() const { return rank_ == 0 ? 1 : dims_[rank_ - 1]; }
  /// The offset of the row's first element.
  [[nodiscard]] std::int64_t offset(std::size_t operand) const { return offsets_[operand]; }
  /// The distance between neighbouring elements of a row.
  [[nodiscard]] std::int64_t step(std::size_t operand) const {
    return rank_ == 0 ? 0 : strides_[operand][rank_ - 1];
  }

  void next() {
    for (std::size_t axis = rank_ < 2 ? 0 : rank_ - 1; axis-- > 0;) {
      if (++index_[axis] < dims_[axis]) {
        for (std::size_t i = 0; i < count_; ++i) offsets_[i] += strides_[i][axis];
        return;
      }
      index_[axis] = 0;
      for (std::size_t i = 0; i < count_; ++i) offsets_[i] -= strides_[i][axis] * (dims_[axis] - 1);
    }
    done_ = true;
  }

 private:
  [[nodiscard]] bool joinable(std::size_t outer, std::size_t inner) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (strides_[i][outer] != strides_[i][inner] * dims_[inner]) return false;
    return true;
  }
  void set_axis(std::size_t to, std::size_t from, std::int64_t dim) {
    dims_[to] = dim;
    for (std::size_t i = 0; i < count_; ++i) strides_[i][to] = strides_[i][from];
  }

  void join_axes() {
    if (empty_) return;
    std::size_t kept = 0;
    for (std::size_t axis = 0; axis < rank_; ++axis) {
      if (dims_[axis] == 1) continue;
      if (kept > 0 && joinable(kept - 1, axis))
        set_axis(kept - 1, axis, dims_[kept - 1] * dims_[axis]);
      else
        set_axis(kept++, axis, dims_[axis]);
    }
    rank_ = kept;
  }

  std::size_t rank_ = 0, count_ = 0;
  bool empty_ = false, done_ = false;
  std::array<std::int64_t, kMaxRank> dims_{};
  std::array<std::int64_t, kMaxRank> index_{};
  std::array<std::array<std::int64_t, kMaxRank>, kOperands> strides_{};
  std::array<std::int64_t, kOperands> offsets_{};
};

/// f(offset of each operand) for every element, in row-major order; strides[i] has one stride per
/// axis of dims.
template <std::size_t kOperands, class F>
void for_each_element(std::span<const std::int64_t> dims,
                      const std::array<const std::int64_t*, kOperands>& strides, F&& f) {
  RowCursor<kOperands> rows(dims);
  for (const std::int64_t* of_operand : strides) rows.add(of_operand);
  for (rows.start(); !rows.done(); rows.next()) {
    std::array<std::int64_t, kOperands> at{};
    for (std::size_t i = 0; i < kOperands; ++i) at[i] = rows.offset(i);
    for (std::int64_t k = 0; k < rows.length(); ++k) {
      f(at);
      for (std::size_t i = 0; i < kOperands; ++i) at[i] += rows.step(i);
    }
  }
}

/// f(index) for every index of the space, in row-major order; axes keep their meaning.
template <class F>
void for_each_index(std::span<const std::int64_t> dims, F&& f) {
  Shape index = Shape::filled(static_cast<int>(dims.size()), 0);
  for (const std::int64_t dim : dims)
    if (dim == 0) return;
  while (true) {
    f(static_cast<const Shape&>(index));
    int axis = index.rank();
    while (--axis >= 0) {
      if (++index[axis] < dims[static_cast<std::size_t>(axis)]) break;
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

/// The offset of `index` under `strides`, one per axis.
[[nodiscard]] inline std::int64_t offset_of(const Shape& index, const std::int64_t* strides) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < index.rank(); ++axis) offset += index[axis] * strides[axis];
  return offset;
}

}  // namespace scanloom::tensor
