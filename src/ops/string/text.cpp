#include "ops/string/text.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/checked.h"

namespace scanloom::ops {

using tensor::Shape;
using tensor::Tensor;

namespace {

/// Sizes of a further block of texts.
constexpr std::int64_t kMinTextBlock = 64, kMaxTextBlock = std::int64_t{1} << 20;

/// Returns zeroed memory for elements and texts of so many bytes together.
Expected<Tensor> room_for(std::int64_t bytes) {
  constexpr std::int64_t kSize = sizeof(StringRef);
  return Tensor::zeros(DType::string, {bytes / kSize + (bytes % kSize == 0 ? 0 : 1)});
}

}  // namespace

Expected<void> TextMaker::reserve(std::int64_t strings, std::int64_t bytes) {
  const std::int64_t factors[] = {strings, sizeof(StringRef)};
  const std::int64_t elements =
      checked_product(factors).value_or(std::numeric_limits<std::int64_t>::max());
  taken_ = saturating_sum(elements, bytes);
  SCANLOOM_CHECK_OK(call_.memory.check(taken_));
  SCANLOOM_TRY(first_, room_for(taken_));
  elements_ = static_cast<StringRef*>(first_.mutable_data());
  next_ = reinterpret_cast<char*>(elements_ + strings);
  strings_ = strings;
  left_ = bytes;
  return {};
}

Expected<void> TextMaker::begin_block(std::int64_t bytes) {
  const std::int64_t capacity =
      std::max(bytes, std::clamp(texts_ / 8, kMinTextBlock, kMaxTextBlock));
  SCANLOOM_CHECK_OK(call_.memory.check_at_least(taken_ + capacity));
  SCANLOOM_TRY(Tensor block, room_for(capacity));
  next_ = static_cast<char*>(block.mutable_data());
  left_ = capacity;
  taken_ += capacity;
  more_.push_back(block.owner());
  return {};
}

Expected<void> TextMaker::add(std::initializer_list<std::string_view> parts) {
  SCANLOOM_ASSERT(count_ < strings_);
  std::int64_t size = 0;
  for (const std::string_view part : parts) size += static_cast<std::int64_t>(part.size());
  if (size > left_) SCANLOOM_CHECK_OK(begin_block(size));
  elements_[count_++] = {next_, size};
  for (const std::string_view part : parts) {
    if (!part.empty()) std::memcpy(next_, part.data(), part.size());
    next_ += part.size();
  }
  left_ -= size;
  texts_ += size;
  return {};
}

Expected<void> TextMaker::give(std::size_t i, const Shape& shape) {
  SCANLOOM_ASSERT(count_ == shape.elements());
  std::shared_ptr<const void> owner = first_.owner();
  if (!more_.empty())
    owner = std::make_shared<const std::pair<Tensor, Blocks>>(first_, std::move(more_));
  first_ = Tensor();
  Tensor tensor(DType::string, shape, std::move(owner), elements_);
  SCANLOOM_TRY(Tensor counted, call_.memory.count(std::move(tensor), taken_));
  return call_.give(i, tensor::ObjectRef::of(std::move(counted)));
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
