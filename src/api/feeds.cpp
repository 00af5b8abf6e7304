// Feeds: by name, of the declared type, present exactly once; strided ones are made row-major.
#include <algorithm>
#include <cstring>

#include "api/impl.h"
#include "base/checked.h"

namespace scanloom {
namespace {

Expected<tensor::Shape> shape_of(const Feed& feed) {
  const View& view = feed.value;
  if (view.shape.size() > static_cast<std::size_t>(tensor::kMaxRank))
    return fail(Code::invalid_argument, "feed '{}' has rank {}, the largest is {}", feed.name,
                view.shape.size(), tensor::kMaxRank);
  const tensor::Shape shape{std::span<const std::int64_t>(view.shape)};
  if (!shape.checked_elements())
    return fail(Code::invalid_argument, "feed '{}' has sizes {}: negative, or more than 2^40",
                feed.name, shape.to_string());
  if (!view.strides.empty() && view.strides.size() != view.shape.size())
    return fail(Code::invalid_argument, "feed '{}' has rank {} but {} strides", feed.name,
                view.shape.size(), view.strides.size());
  if (view.data == nullptr && shape.elements() > 0)
    return fail(Code::invalid_argument, "feed '{}' has sizes {} but no data", feed.name,
                shape.to_string());
  return shape;
}

/// Row-major memory of a feed: its own, or a copy.
Expected<const std::byte*> row_major(const Feed& feed, const tensor::Shape& shape,
                                     std::vector<tensor::Tensor>& copies) {
  const View& view = feed.value;
  const auto* data = static_cast<const std::byte*>(view.data);
  if (view.strides.empty() || tensor::is_contiguous(shape.dims(), view.strides)) return data;
  SCANLOOM_TRY(tensor::Tensor copy, tensor::Tensor::zeros(view.dtype, shape));
  const std::size_t size = dtype_bytes(view.dtype);
  auto* to = static_cast<std::byte*>(copy.mutable_data());
  tensor::Shape at = tensor::Shape::filled(shape.rank(), 0);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    std::int64_t from = 0;
    for (int axis = 0; axis < shape.rank(); ++axis)
      from += at[axis] * view.strides[static_cast<std::size_t>(axis)];
    std::memcpy(to + i * static_cast<std::int64_t>(size),
                data + from * static_cast<std::int64_t>(size), size);
    for (int axis = shape.rank() - 1; axis >= 0 && ++at[axis] == shape[axis]; --axis) at[axis] = 0;
  }
  copies.push_back(copy);
  return static_cast<const std::byte*>(copy.data());
}

}  // namespace

Expected<std::vector<const std::byte*>> Session::Impl::arrange(
    std::span<const Feed> feeds, std::vector<tensor::Shape>& shapes,
    std::vector<tensor::Tensor>& copies) const {
  // An input of no elements may have a null address; kernels still get one that is aligned.
  static constexpr std::byte kNothing[64] = {};
  std::vector<const Feed*> by_input(inputs.size(), nullptr);
  for (const Feed& feed : feeds) {
    const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const ValueInfo& input) {
      return input.name == feed.name;
    });
    if (found == inputs.end()) {
      std::string names;
      for (const ValueInfo& input : inputs) names += (names.empty() ? "" : ", ") + input.name;
      return fail(Code::invalid_argument, "the model has no input '{}'", feed.name)
          .note("its inputs are: " + names);
    }
    const Feed*& slot = by_input[static_cast<std::size_t>(found - inputs.begin())];
    if (slot != nullptr) return fail(Code::invalid_argument, "input '{}' is fed twice", feed.name);
    slot = &feed;
  }
  std::vector<const std::byte*> data;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Feed* feed = by_input[i];
    if (feed == nullptr)
      return fail(Code::invalid_argument, "input '{}' ({}) is not fed", inputs[i].name,
                  inputs[i].type);
    if (feed->value.dtype != inputs[i].dtype)
      return fail(Code::invalid_argument, "input '{}' is {}, the feed is {}", feed->name,
                  dtype_onnx_name(inputs[i].dtype), dtype_onnx_name(feed->value.dtype));
    SCANLOOM_TRY(const tensor::Shape shape, shape_of(*feed));
    SCANLOOM_TRY(const std::byte* memory, row_major(*feed, shape, copies));
    shapes.push_back(shape);
    data.push_back(memory == nullptr ? kNothing : memory);
  }
  return data;
}

}  // namespace scanloom
