#include "tensor/shape.h"

#include <algorithm>

#include "base/assert.h"

namespace scanloom::tensor {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

std::int64_t wrapping_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

}  // namespace

Shape::Shape(std::span<const std::int64_t> dims) : rank_(static_cast<std::int32_t>(dims.size())) {
  SCANLOOM_ASSERT(dims.size() <= static_cast<std::size_t>(kMaxRank));
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

Shape Shape::filled(int rank, std::int64_t value) {
  SCANLOOM_ASSERT(rank >= 0 && rank <= kMaxRank);
  Shape shape;
  shape.rank_ = rank;
  std::fill_n(shape.dims_.begin(), rank, value);
  return shape;
}

void Shape::insert(int axis, std::int64_t dim) {
  SCANLOOM_ASSERT(axis >= 0 && axis <= rank_ && rank_ < kMaxRank);
  std::copy_backward(dims_.begin() + axis, dims_.begin() + rank_, dims_.begin() + rank_ + 1);
  dims_[static_cast<std::size_t>(axis)] = dim;
  ++rank_;
}

void Shape::erase(int axis) {
  SCANLOOM_ASSERT(axis >= 0 && axis < rank_);
  std::copy(dims_.begin() + axis + 1, dims_.begin() + rank_, dims_.begin() + axis);
  --rank_;
}

std::int64_t Shape::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims()) count = wrapping_mul(count, dim);
  return count;
}

std::optional<std::int64_t> Shape::checked_elements() const {
  bool empty = false;
  for (const std::int64_t dim : dims()) {
    if (dim < 0) return std::nullopt;
    empty |= dim == 0;
  }
  if (empty) return 0;
  std::int64_t count = 1;
  for (const std::int64_t dim : dims())
    if (__builtin_mul_overflow(count, dim, &count) || count > kMaxElements) return std::nullopt;
  return count;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) {
    if (axis > 0) text += ',';
    text += std::to_string((*this)[axis]);
  }
  return text + "]";
}

bool operator==(const Shape& a, const Shape& b) { return std::ranges::equal(a.dims(), b.dims()); }

Shape contiguous_strides(const Shape& shape) {
  Shape strides = Shape::filled(shape.rank(), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis)
    strides[axis] = wrapping_mul(strides[axis + 1], shape[axis + 1]);
  return strides;
}

bool is_contiguous(std::span<const std::int64_t> dims, std::span<const std::int64_t> strides) {
  if (std::ranges::find(dims, 0) != dims.end()) return true;
  std::int64_t expected = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    if (dims[axis] == 1) continue;
    if (strides[axis] != expected) return false;
    expected = wrapping_mul(expected, dims[axis]);
  }
  return true;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape result = Shape::filled(rank, 1);
  for (int axis = 0; axis < rank; ++axis) {
    const int in_a = axis - (rank - a.rank());
    const int in_b = axis - (rank - b.rank());
    const std::int64_t of_a = in_a < 0 ? 1 : a[in_a];
    const std::int64_t of_b = in_b < 0 ? 1 : b[in_b];
    if (of_a != of_b && of_a != 1 && of_b != 1) return std::nullopt;
    result[axis] = of_a == 1 ? of_b : of_a;
  }
  return result;
}

std::optional<int> normalise_axis(std::int64_t axis, int rank) {
  if (axis < -std::int64_t{rank} || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::optional<std::vector<std::int64_t>> normalise_axes(std::span<const std::int64_t> axes,
                                                        int rank) {
  std::vector<std::int64_t> normalised;
  for (const std::int64_t axis : axes) {
    const auto normal = normalise_axis(axis, rank);
    if (!normal) return std::nullopt;
    normalised.push_back(*normal);
  }
  return normalised;
}

}  // namespace scanloom::tensor
