#include "tensor/view.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tensor/small_int.h"
#include "tensor/strided_copy.h"

namespace scanloom::tensor {
namespace {

Expected<Shape> shape_of(const View& view, std::string_view what) {
  if (view.shape.size() > static_cast<std::size_t>(kMaxRank))
    return fail(Code::invalid_argument, "{} has rank {}, but the limit is {}", what,
                view.shape.size(), kMaxRank);
  const Shape shape{std::span<const std::int64_t>(view.shape)};
  if (!shape.checked_elements())
    return fail(Code::invalid_argument,
                "{} has sizes {}: one is negative, or they make more than 2^40 elements", what,
                shape.to_string());
  if (!view.strides.empty() && view.strides.size() != view.shape.size())
    return fail(Code::invalid_argument, "{} has rank {} but {} strides", what, view.shape.size(),
                view.strides.size());
  if (view.data == nullptr && shape.elements() > 0)
    return fail(Code::invalid_argument, "{} has sizes {} but no data", what, shape.to_string());
  return shape;
}

/// Copies elements that are neither in order nor aligned byte by byte, with one more axis.
Expected<void> copy_bytes(const View& view, const Shape& shape, std::string_view what,
                          std::byte* to) {
  if (shape.rank() == kMaxRank)
    return fail(Code::unsupported, "{} has rank {} and unaligned elements, which need rank {}",
                what, shape.rank(), kMaxRank - 1);
  const auto width = static_cast<std::int64_t>(dtype_bytes(view.dtype));
  Shape dims = shape, strides{std::span<const std::int64_t>(view.strides)};
  for (int axis = 0; axis < strides.rank(); ++axis) strides[axis] *= width;
  dims.push_back(width);
  strides.push_back(1);
  copy_strided(DType::u8, dims.dims(), static_cast<const std::byte*>(view.data), strides.data(), to,
               contiguous_strides(dims).data());
  return {};
}

/// Row-major, aligned memory: the view's own, or a copy.
Expected<Tensor> in_order(const View& view, std::string_view what) {
  // An empty tensor may have a null address; kernels still get an aligned one.
  static constexpr std::byte kNothing[64] = {};
  SCANLOOM_TRY(const Shape shape, shape_of(view, what));
  const auto* data = static_cast<const std::byte*>(view.data);
  if (data == nullptr) data = kNothing;
  const std::size_t width = dtype_bytes(view.dtype);
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(data) % std::min<std::size_t>(width, 8) == 0;
  const bool straight = view.strides.empty() || is_contiguous(shape.dims(), view.strides);
  if (straight && aligned) return Tensor(view.dtype, shape, view.owner, data);
  SCANLOOM_TRY(Tensor copy, Tensor::zeros(view.dtype, shape));
  auto* to = static_cast<std::byte*>(copy.mutable_data());
  const Shape strides = contiguous_strides(shape);
  if (straight) {
    if (copy.bytes() > 0) std::memcpy(to, data, copy.bytes());
  } else if (aligned) {
    copy_strided(view.dtype, shape.dims(), data, view.strides.data(), to, strides.data());
  } else {
    SCANLOOM_CHECK_OK(copy_bytes(view, shape, what, to));
  }
  return copy;
}

/// Other libraries may set only the low bits of elements narrower than a byte: returns a copy with
/// the other bits as kernels expect them.
Expected<Tensor> with_known_bits(const Tensor& tensor) {
  SCANLOOM_TRY(Tensor copy, Tensor::zeros(tensor.dtype(), tensor.shape()));
  const bool is_signed = dtype_kind(tensor.dtype()) == DTypeKind::signed_int;
  const auto* const from = static_cast<const std::uint8_t*>(tensor.data());
  auto* const to = static_cast<std::uint8_t*>(copy.mutable_data());
  for (std::size_t i = 0; i < copy.bytes(); ++i)
    to[i] = stored_narrow(from[i], dtype_file_bits(tensor.dtype()), is_signed);
  return copy;
}

bool is_narrow(DType dtype) { return dtype_file_bits(dtype) > 0 && dtype_file_bits(dtype) < 8; }

/// Whether a byte of a boolean tensor is neither 0 nor 1, which other libraries may produce and a
/// C++ bool may not be.
bool has_other_truths(const Tensor& tensor) {
  const auto* const bytes = static_cast<const std::uint8_t*>(tensor.data());
  const std::size_t count = tensor.bytes();  // not known to stay the same within the loop
  // Several chains, so that a vector of bytes need not wait for the one before.
  constexpr std::size_t kBlock = 128;
  std::array<std::uint8_t, kBlock> all{};
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock)
    for (std::size_t j = 0; j < kBlock; ++j) all[j] |= bytes[i + j];
  for (; i < count; ++i) all[0] |= bytes[i];
  return std::ranges::any_of(all, [](std::uint8_t each) { return each > 1; });
}

Expected<Tensor> with_plain_truths(const Tensor& tensor) {
  SCANLOOM_TRY(Tensor copy, Tensor::zeros(tensor.dtype(), tensor.shape()));
  const auto* const from = static_cast<const std::uint8_t*>(tensor.data());
  auto* const to = static_cast<std::uint8_t*>(copy.mutable_data());
  for (std::size_t i = 0; i < copy.bytes(); ++i) to[i] = from[i] != 0 ? 1 : 0;
  return copy;
}

}  // namespace

// A copy of strided strings gets texts of its own, because it may outlive the original.
Expected<Tensor> tensor_of(const View& view, std::string_view what) {
  SCANLOOM_TRY(Tensor tensor, in_order(view, what));
  if (is_narrow(view.dtype)) return with_known_bits(tensor);
  if (view.dtype == DType::boolean && has_other_truths(tensor)) return with_plain_truths(tensor);
  if (tensor.data() == view.data) return tensor;
  return with_own_strings(std::move(tensor));
}

Expected<Tensor> copy_of(const View& view, std::string_view what) {
  if (view.kind != ValueKind::tensor || view.dtype == DType::string)
    return fail(Code::unsupported, "{} is not a numeric tensor; only these can be kept", what);
  SCANLOOM_TRY(Tensor made, tensor_of(view, what));
  if (made.data() != view.data) return made;
  return Tensor::copy_of(made.dtype(), made.shape(), made.data());
}

}  // namespace scanloom::tensor
