#include "ops/string/text.h"

#include <algorithm>

namespace scanloom::ops {

using tensor::Shape;

Expected<void> TextMaker::add(std::initializer_list<std::string_view> parts) {
  constexpr std::int64_t kBetweenChecks = 1 << 16;
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  bytes_ += static_cast<std::int64_t>(size + sizeof(std::string) + sizeof(StringRef));
  if (bytes_ - checked_ > kBetweenChecks) {
    SCANLOOM_CHECK_OK(call_.memory.check(2 * bytes_));  // these texts, and the tensor of them
    checked_ = bytes_;
  }
  std::string& text = texts_.emplace_back();
  text.reserve(size);
  for (const std::string_view part : parts) text += part;
  return {};
}

Expected<void> TextMaker::give(std::size_t i, const Shape& shape) {
  SCANLOOM_CHECK_OK(call_.memory.check(2 * bytes_));
  SCANLOOM_TRY(tensor::Tensor made, tensor::Tensor::of_strings(shape, texts_));
  return call_.give(i, std::move(made));
}

Expected<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape shape = Shape::filled(rank, 1);
  for (int axis = 0; axis < rank; ++axis) {
    const int of_a = axis - (rank - a.rank()), of_b = axis - (rank - b.rank());
    const std::int64_t x = of_a < 0 ? 1 : a[of_a], y = of_b < 0 ? 1 : b[of_b];
    if (x != y && x != 1 && y != 1)
      return fail(Code::invalid_argument,
                  "{} and {} do not broadcast: sizes {} and {} on axis {} of the result",
                  a.to_string(), b.to_string(), x, y, axis);
    shape[axis] = x == 1 ? y : x;
  }
  return shape;
}

}  // namespace scanloom::ops
