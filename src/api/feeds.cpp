// Feeds: by name, of the declared type, present exactly once; strided ones are made row-major.
#include <algorithm>
#include <cstring>

#include "api/impl.h"
#include "tensor/small_int.h"
#include "tensor/strided_copy.h"

namespace scanloom {
namespace {

Expected<tensor::Shape> shape_of(const View& view, std::string_view what) {
  if (view.shape.size() > static_cast<std::size_t>(tensor::kMaxRank))
    return fail(Code::invalid_argument, "{} has rank {}, the largest is {}", what,
                view.shape.size(), tensor::kMaxRank);
  const tensor::Shape shape{std::span<const std::int64_t>(view.shape)};
  if (!shape.checked_elements())
    return fail(Code::invalid_argument, "{} has sizes {}: negative, or more than 2^40", what,
                shape.to_string());
  if (!view.strides.empty() && view.strides.size() != view.shape.size())
    return fail(Code::invalid_argument, "{} has rank {} but {} strides", what, view.shape.size(),
                view.strides.size());
  if (view.data == nullptr && shape.elements() > 0)
    return fail(Code::invalid_argument, "{} has sizes {} but no data", what, shape.to_string());
  return shape;
}

/// Elements that are neither in order nor aligned, byte by byte: one more axis.
Expected<void> copy_bytes(const View& view, const tensor::Shape& shape, std::string_view what,
                          std::byte* to) {
  if (shape.rank() == tensor::kMaxRank)
    return fail(Code::unsupported, "{} has rank {} and unaligned elements, which need rank {}",
                what, shape.rank(), tensor::kMaxRank - 1);
  const auto width = static_cast<std::int64_t>(dtype_bytes(view.dtype));
  tensor::Shape dims = shape, strides{std::span<const std::int64_t>(view.strides)};
  for (int axis = 0; axis < strides.rank(); ++axis) strides[axis] *= width;
  dims.push_back(width);
  strides.push_back(1);
  tensor::copy_strided(DType::u8, dims.dims(), static_cast<const std::byte*>(view.data),
                       strides.data(), to, tensor::contiguous_strides(dims).data());
  return {};
}

std::string text_of(ValueKind kind, DType dtype) {
  const std::string elements(dtype_onnx_name(dtype));
  switch (kind) {
    case ValueKind::tensor:
      return elements;
    case ValueKind::sequence:
      return "a sequence of " + elements;
    case ValueKind::optional:
      break;
  }
  return "an optional of " + elements;
}

}  // namespace

Expected<tensor::Tensor> to_tensor(const View& view, std::string_view what) {
  // A tensor of no elements may have a null address; kernels still get one that is aligned.
  static constexpr std::byte kNothing[64] = {};
  SCANLOOM_TRY(const tensor::Shape shape, shape_of(view, what));
  const auto* data = static_cast<const std::byte*>(view.data);
  if (data == nullptr) data = kNothing;
  const std::size_t width = dtype_bytes(view.dtype);
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(data) % std::min<std::size_t>(width, 8) == 0;
  const bool straight = view.strides.empty() || tensor::is_contiguous(shape.dims(), view.strides);
  if (straight && aligned) return tensor::Tensor(view.dtype, shape, view.owner, data);
  SCANLOOM_TRY(tensor::Tensor copy, tensor::Tensor::zeros(view.dtype, shape));
  auto* to = static_cast<std::byte*>(copy.mutable_data());
  const tensor::Shape strides = tensor::contiguous_strides(shape);
  if (straight) {
    if (copy.bytes() > 0) std::memcpy(to, data, copy.bytes());
  } else if (aligned) {
    tensor::copy_strided(view.dtype, shape.dims(), data, view.strides.data(), to, strides.data());
  } else {
    SCANLOOM_CHECK_OK(copy_bytes(view, shape, what, to));
  }
  return copy;
}

namespace {

/// Of elements narrower than a byte others fill only the low bits: a copy with the rest as kernels
/// expect it.
Expected<tensor::Tensor> with_known_bits(const tensor::Tensor& tensor) {
  SCANLOOM_TRY(tensor::Tensor copy, tensor::Tensor::zeros(tensor.dtype(), tensor.shape()));
  const bool is_signed = dtype_kind(tensor.dtype()) == DTypeKind::signed_int;
  const auto* const from = static_cast<const std::uint8_t*>(tensor.data());
  auto* const to = static_cast<std::uint8_t*>(copy.mutable_data());
  for (std::size_t i = 0; i < copy.bytes(); ++i)
    to[i] = tensor::stored_narrow(from[i], dtype_file_bits(tensor.dtype()), is_signed);
  return copy;
}

bool is_narrow(DType dtype) { return dtype_file_bits(dtype) > 0 && dtype_file_bits(dtype) < 8; }

/// Whether a byte of a boolean tensor is neither 0 nor 1, as other libraries may leave them: a C++
/// bool may not be.
bool has_other_truths(const tensor::Tensor& tensor) {
  const auto* const bytes = static_cast<const std::uint8_t*>(tensor.data());
  std::uint8_t all = 0;
  for (std::size_t i = 0; i < tensor.bytes(); ++i) all |= bytes[i];
  return all > 1;
}

Expected<tensor::Tensor> with_plain_truths(const tensor::Tensor& tensor) {
  SCANLOOM_TRY(tensor::Tensor copy, tensor::Tensor::zeros(tensor.dtype(), tensor.shape()));
  const auto* const from = static_cast<const std::uint8_t*>(tensor.data());
  auto* const to = static_cast<std::uint8_t*>(copy.mutable_data());
  for (std::size_t i = 0; i < copy.bytes(); ++i) to[i] = from[i] != 0 ? 1 : 0;
  return copy;
}

/// Copies of strided strings must not outlive what they were copied from.
Expected<tensor::Tensor> to_item(const View& view, std::string_view what) {
  SCANLOOM_TRY(tensor::Tensor tensor, to_tensor(view, what));
  if (is_narrow(view.dtype)) return with_known_bits(tensor);
  if (view.dtype == DType::boolean && has_other_truths(tensor)) return with_plain_truths(tensor);
  if (tensor.data() == view.data) return tensor;
  return tensor::with_own_strings(std::move(tensor));
}

}  // namespace

Expected<tensor::BoxRef> to_box(const View& view, const tensor::Type& type, std::string_view what) {
  // The depth of recursion is that of the type, of which eight levels are the most.
  const auto wrong = [&](const tensor::Type& wanted) {
    return fail(Code::invalid_argument, "{} is {}, not {}", what, text_of(view.kind, view.dtype),
                text_of(!wanted.is_tensor() && wanted.wraps.front() == tensor::Wrap::optional
                            ? ValueKind::optional
                        : wanted.is_tensor() ? ValueKind::tensor
                                             : ValueKind::sequence,
                        wanted.dtype));
  };
  if (type.is_tensor()) {
    if (view.kind != ValueKind::tensor || view.dtype != type.dtype) return wrong(type);
    SCANLOOM_TRY(tensor::Tensor tensor, to_item(view, what));
    tensor::BoxRef box = tensor::BoxRef::of(std::move(tensor));
    if (!allows(type, box))
      return fail(Code::invalid_argument, "{} has sizes {}, which the model does not allow", what,
                  box->tensor().shape().to_string());
    return box;
  }
  tensor::Type item = type;
  item.wraps.erase(item.wraps.begin());
  if (type.wraps.front() == tensor::Wrap::optional) {
    if (view.kind != ValueKind::optional) {
      SCANLOOM_TRY(tensor::BoxRef held, to_box(view, item, what));
      return tensor::BoxRef::optional_of(std::move(held));
    }
    if (view.items.size() > 1)
      return fail(Code::invalid_argument, "{} is an optional of {} items, 1 is the most", what,
                  view.items.size());
    if (view.items.empty()) return tensor::BoxRef::optional(type.dtype);
    SCANLOOM_TRY(tensor::BoxRef held, to_box(view.items[0], item, what));
    return tensor::BoxRef::optional_of(std::move(held));
  }
  if (view.kind != ValueKind::sequence) return wrong(type);
  tensor::BoxRef sequence = tensor::BoxRef::sequence(type.dtype);
  for (std::size_t i = 0; i < view.items.size(); ++i) {
    SCANLOOM_TRY(tensor::BoxRef made,
                 to_box(view.items[i], item, fmt::format("item {} of {}", i, what)));
    sequence->push_back(std::move(made));
  }
  return sequence;
}

Expected<Arranged> Session::Impl::arrange(std::span<const Feed> feeds) const {
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
  Arranged arranged;
  arranged.objects.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Feed* feed = by_input[i];
    if (feed == nullptr)
      return fail(Code::invalid_argument, "input '{}' ({}) is not fed", inputs[i].name,
                  inputs[i].type);
    SCANLOOM_CHECK_OK(arrange_one(i, feed->value, arranged));
  }
  return arranged;
}

Expected<void> Session::Impl::arrange_one(std::size_t input, const View& view,
                                          Arranged& arranged) const {
  const ValueInfo& info = inputs[input];
  const std::string what = "feed '" + info.name + "'";
  if (info.kind == ValueKind::tensor) {
    if (view.kind != ValueKind::tensor || view.dtype != info.dtype)
      return fail(Code::invalid_argument, "input '{}' is {}, the feed is {}", info.name,
                  text_of(info.kind, info.dtype), text_of(view.kind, view.dtype));
    SCANLOOM_TRY(tensor::Tensor tensor, to_item(view, what));
    arranged.shapes.push_back(tensor.shape());
    arranged.data.push_back(static_cast<const std::byte*>(tensor.data()));
    if (info.dtype == DType::string) arranged.objects[input] = tensor::BoxRef::of(tensor);
    arranged.copies.push_back(std::move(tensor));
    return {};
  }
  const ir::Region& top = plan->module.region(plan->module.top());
  SCANLOOM_TRY(arranged.objects[input],
               to_box(view, plan->module.value(top.args[input]).type, what));
  arranged.shapes.emplace_back();
  arranged.data.push_back(nullptr);
  return {};
}

}  // namespace scanloom
