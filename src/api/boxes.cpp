#include "api/boxes.h"

#include <algorithm>
#include <cstring>

#include "tensor/strided_copy.h"

namespace scanloom {
namespace {

std::int64_t offset_of(const tensor::Shape& at, const tensor::Shape& strides) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < at.rank(); ++axis) offset += at[axis] * strides[axis];
  return offset;
}

/// Steps that are copied for one lane before the next: a cache line of the shortest rows.
constexpr std::int64_t kBlock = 16;

/// Calls copy(lane, step, steps) for blocks of steps, all lanes of a block in turn.
template <class Copy>
void for_each_block(std::int64_t count, std::size_t lanes, Copy copy) {
  for (std::int64_t step = 0; step < count; step += kBlock)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      copy(lane, step, std::min(kBlock, count - step));
}

/// Copies rows whose distances differ. Row: an integer of the row's size.
template <class Row>
void copy_rows(std::int64_t count, const std::byte* from, std::int64_t from_step, std::byte* to,
               std::int64_t to_step) {
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_step, from + i * from_step, sizeof(Row));
}

void copy_rows_of(std::int64_t row, std::int64_t count, const std::byte* from,
                  std::int64_t from_step, std::byte* to, std::int64_t to_step) {
  if (row == 4) return copy_rows<std::uint32_t>(count, from, from_step, to, to_step);
  if (row == 8) return copy_rows<std::uint64_t>(count, from, from_step, to, to_step);
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_step, from + i * from_step, static_cast<std::size_t>(row));
}

}  // namespace

std::optional<Interleaved> interleaved(DType dtype, const tensor::Shape& shape, int steps,
                                       int lanes) {
  if (lanes < steps) return std::nullopt;
  std::int64_t row = static_cast<std::int64_t>(dtype_bytes(dtype));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > lanes)
      row *= shape[axis];
    else if (axis != steps && axis != lanes && shape[axis] != 1)
      return std::nullopt;
  }
  return Interleaved{shape[lanes], row};
}

void interleave(const Interleaved& layout, std::int64_t count,
                std::span<const std::byte* const> sequences, std::byte* rows) noexcept {
  const std::int64_t row = layout.row, all = layout.row * layout.lanes;
  for_each_block(count, sequences.size(), [&](std::size_t lane, std::int64_t step, auto steps) {
    copy_rows_of(row, steps, sequences[lane] + step * row, row,
                 rows + step * all + static_cast<std::int64_t>(lane) * row, all);
  });
}

void separate(const Interleaved& layout, std::int64_t count, const std::byte* rows,
              std::span<std::byte* const> sequences) noexcept {
  const std::int64_t row = layout.row, all = layout.row * layout.lanes;
  for_each_block(count, sequences.size(), [&](std::size_t lane, std::int64_t step, auto steps) {
    copy_rows_of(row, steps, rows + step * all + static_cast<std::int64_t>(lane) * row, all,
                 sequences[lane] + step * row, row);
  });
}

void copy_box(DType dtype, const tensor::Shape& box, const BoxAt<const std::byte>& from,
              const BoxAt<std::byte>& to) noexcept {
  const tensor::Shape from_strides = tensor::contiguous_strides(from.shape);
  const tensor::Shape to_strides = tensor::contiguous_strides(to.shape);
  tensor::copy_strided(
      dtype, box.dims(), tensor::advance(from.data, dtype, offset_of(from.at, from_strides)),
      from_strides.data(), tensor::advance(to.data, dtype, offset_of(to.at, to_strides)),
      to_strides.data());
}

tensor::Shape with_size(tensor::Shape shape, int axis, std::int64_t size) {
  shape[axis] = size;
  return shape;
}

tensor::Shape position_on(int rank, int axis, std::int64_t position) {
  tensor::Shape at = tensor::Shape::filled(rank, 0);
  at[axis] = position;
  return at;
}

}  // namespace scanloom
