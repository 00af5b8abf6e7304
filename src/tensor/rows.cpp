#include "tensor/rows.h"

#include <cstring>

#include "base/checked.h"

namespace scanloom::tensor {
namespace {

/// Bytes of a block: all elements of the axes from `axis` on.
std::size_t block_bytes(const Tensor& tensor, int axis) {
  std::size_t bytes = dtype_bytes(tensor.dtype());
  for (int i = axis; i < tensor.shape().rank(); ++i)
    bytes *= static_cast<std::size_t>(tensor.shape()[i]);
  return bytes;
}

std::size_t block_count(const Tensor& tensor, int axis) {
  std::size_t count = 1;
  for (int i = 0; i < axis; ++i) count *= static_cast<std::size_t>(tensor.shape()[i]);
  return count;
}

/// The shape of the joined rows.
Expected<Shape> joined_shape(std::span<const Tensor> rows, int axis, bool insert) {
  Shape shape = rows[0].shape();
  if (insert && shape.rank() == kMaxRank)
    return fail(Code::unsupported, "rows of {} axes cannot be stacked: the limit is {} axes",
                shape.rank(), kMaxRank);
  if (insert) {
    shape.insert(axis, static_cast<std::int64_t>(rows.size()));
  } else {
    shape[axis] = 0;
    for (const Tensor& row : rows)
      if (__builtin_add_overflow(shape[axis], row.shape()[axis], &shape[axis])) shape[axis] = -1;
  }
  if (!shape.checked_elements())
    return fail(Code::invalid_argument, "the result {} has more than 2^40 elements",
                shape.to_string());
  return shape;
}

}  // namespace

std::int64_t bytes_of_slice(const Tensor& whole, int axis, std::int64_t first, std::int64_t part) {
  const std::size_t row = block_bytes(whole, axis + 1), blocks = block_count(whole, axis);
  std::int64_t bytes = static_cast<std::int64_t>(blocks * row) * part;
  if (whole.dtype() != DType::string) return bytes;
  const std::size_t block = block_bytes(whole, axis) / sizeof(StringRef);
  const std::size_t from = row / sizeof(StringRef) * static_cast<std::size_t>(first);
  const std::size_t size = row / sizeof(StringRef) * static_cast<std::size_t>(part);
  const std::span<const StringRef> elements = whole.as<StringRef>();
  for (std::size_t i = 0; i < blocks; ++i)
    for (const StringRef& element : elements.subspan(i * block + from, size)) bytes += element.size;
  return bytes;
}

Expected<Tensor> slice(const Tensor& whole, int axis, std::int64_t first, std::int64_t part,
                       bool squeeze) {
  Shape shape = whole.shape();
  shape[axis] = part;
  if (squeeze) shape.erase(axis);
  SCANLOOM_TRY(Tensor result, Tensor::zeros(whole.dtype(), shape));
  const std::size_t row = block_bytes(whole, axis + 1);
  const std::size_t from_block = block_bytes(whole, axis);
  const std::size_t to_block = row * static_cast<std::size_t>(part);
  const auto* from =
      static_cast<const std::byte*>(whole.data()) + row * static_cast<std::size_t>(first);
  auto* to = static_cast<std::byte*>(result.mutable_data());
  if (to_block == 0) return result;
  for (std::size_t i = 0; i < block_count(whole, axis); ++i)
    std::memcpy(to + i * to_block, from + i * from_block, to_block);
  return with_own_strings(std::move(result));
}

Error row_that_changes(const std::string& port, std::int64_t step, const Shape& sizes,
                       const Shape& first) {
  return fail(Code::invalid_argument, "{} has a row of sizes {} in step {}, but {} in step 0", port,
              sizes.to_string(), step, first.to_string())
      .note("all rows of a stacked output must have the same sizes");
}

Expected<void> check_row(std::span<const Tensor> rows, const Tensor& row,
                         FunctionRef<std::string()> port, std::int64_t axis, bool insert) {
  const int last = insert ? row.shape().rank() : row.shape().rank() - 1;
  if (axis > last)
    return fail(Code::invalid_argument, "{} has rows of sizes {}, which have no axis {}", port(),
                row.shape().to_string(), axis);
  if (rows.empty()) return {};
  Shape first = rows[0].shape();
  if (!insert && first.rank() == row.shape().rank())
    first[static_cast<int>(axis)] = row.shape()[static_cast<int>(axis)];
  if (first == row.shape()) return {};
  return row_that_changes(port(), std::ssize(rows), row.shape(), rows[0].shape());
}

std::int64_t bytes_of_rows(std::span<const Tensor> rows) {
  std::int64_t bytes = 0;
  for (const Tensor& row : rows) bytes = saturating_sum(bytes, bytes_with_text(row));
  return bytes;
}

Expected<Tensor> join_rows(std::span<const Tensor> rows, int axis, bool insert, bool reverse) {
  SCANLOOM_TRY(const Shape shape, joined_shape(rows, axis, insert));
  SCANLOOM_TRY(Tensor result, Tensor::zeros(rows[0].dtype(), shape));
  const std::size_t to_block = block_bytes(result, axis);
  auto* to = static_cast<std::byte*>(result.mutable_data());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Tensor& row = rows[reverse ? rows.size() - 1 - k : k];
    const std::size_t from_block = block_bytes(row, axis);
    const auto* from = static_cast<const std::byte*>(row.data());
    for (std::size_t i = 0; from_block > 0 && i < block_count(row, axis); ++i)
      std::memcpy(to + i * to_block, from + i * from_block, from_block);
    to += from_block;
  }
  return with_own_strings(std::move(result));
}

}  // namespace scanloom::tensor
