// Feeds: by name, of the declared type, present exactly once; strided ones are made row-major.
#include <algorithm>
#include <cstring>

#include "api/impl.h"
#include "tensor/small_int.h"
#include "tensor/strided_copy.h"

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

/// Elements that are neither in order nor aligned, byte by byte: one more axis.
Expected<void> copy_bytes(const Feed& feed, const tensor::Shape& shape, std::byte* to) {
  if (shape.rank() == tensor::kMaxRank)
    return fail(Code::unsupported,
                "feed '{}' has rank {} and unaligned elements, which need rank {}", feed.name,
                shape.rank(), tensor::kMaxRank - 1);
  const auto width = static_cast<std::int64_t>(dtype_bytes(feed.value.dtype));
  tensor::Shape dims = shape, strides{std::span<const std::int64_t>(feed.value.strides)};
  for (int axis = 0; axis < strides.rank(); ++axis) strides[axis] *= width;
  dims.push_back(width);
  strides.push_back(1);
  tensor::copy_strided(DType::u8, dims.dims(), static_cast<const std::byte*>(feed.value.data),
                       strides.data(), to, tensor::contiguous_strides(dims).data());
  return {};
}

/// Row-major, aligned memory of a feed: its own, or a copy.
Expected<const std::byte*> row_major(const Feed& feed, const tensor::Shape& shape,
                                     std::vector<tensor::Tensor>& copies) {
  const View& view = feed.value;
  const auto* data = static_cast<const std::byte*>(view.data);
  const std::size_t width = dtype_bytes(view.dtype);
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(data) % std::min<std::size_t>(width, 8) == 0;
  const bool straight = view.strides.empty() || tensor::is_contiguous(shape.dims(), view.strides);
  if (straight && aligned) return data;
  SCANLOOM_TRY(tensor::Tensor copy, tensor::Tensor::zeros(view.dtype, shape));
  auto* to = static_cast<std::byte*>(copy.mutable_data());
  const tensor::Shape strides = tensor::contiguous_strides(shape);
  if (straight) {
    if (copy.bytes() > 0) std::memcpy(to, data, copy.bytes());
  } else if (aligned) {
    tensor::copy_strided(view.dtype, shape.dims(), data, view.strides.data(), to, strides.data());
  } else {
    SCANLOOM_CHECK_OK(copy_bytes(feed, shape, to));
  }
  copies.push_back(copy);
  return static_cast<const std::byte*>(copy.data());
}

/// Of elements narrower than a byte others fill only the low bits: a copy with the rest as kernels
/// expect it.
Expected<const std::byte*> with_known_bits(const std::byte* data, DType dtype,
                                           const tensor::Shape& shape,
                                           std::vector<tensor::Tensor>& copies) {
  SCANLOOM_TRY(tensor::Tensor copy, tensor::Tensor::zeros(dtype, shape));
  const bool is_signed = dtype_kind(dtype) == DTypeKind::signed_int;
  auto* const to = static_cast<std::uint8_t*>(copy.mutable_data());
  for (std::size_t i = 0; i < copy.bytes(); ++i)
    to[i] = tensor::stored_narrow(std::to_integer<std::uint8_t>(data[i]), dtype_file_bits(dtype),
                                  is_signed);
  copies.push_back(copy);
  return static_cast<const std::byte*>(copy.data());
}

bool is_narrow(DType dtype) { return dtype_file_bits(dtype) > 0 && dtype_file_bits(dtype) < 8; }

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
    if (is_narrow(feed->value.dtype)) {
      SCANLOOM_TRY(memory, with_known_bits(memory, feed->value.dtype, shape, copies));
    }
    shapes.push_back(shape);
    data.push_back(memory == nullptr ? kNothing : memory);
  }
  return data;
}

}  // namespace scanloom
