#include "value_file.h"

#include <optional>
#include <span>

#include <scanloom/stored_value.h>

#include "element.h"
#include "failure.h"
#include "npy.h"

namespace scanloom::cli {
namespace {

/// Whether numpy's files store the type as integers or raw bytes.
bool is_held_as_bytes(DType dtype) {
  const bool has_name = dtype == DType::i8 || dtype == DType::u8 || dtype == DType::boolean;
  return dtype_bytes(dtype) == 1 && !has_name;
}

/// Returns the byte as an element of the type; nullopt if it is invalid. Packages leave the high
/// bits of narrow signed integers zero, or equal to the sign.
std::optional<std::byte> element_of(std::byte held, DType dtype, DType held_as) {
  const int bits = dtype_file_bits(dtype);
  if (bits == 8) return held;
  const int number = std::to_integer<int>(held), half = 1 << (bits - 1);
  if (dtype_kind(dtype) != DTypeKind::signed_int)
    return number < 2 * half ? std::optional(held) : std::nullopt;
  if (number < half || number >= 256 - half) return held;
  if (held_as == DType::i8 || number >= 2 * half) return std::nullopt;
  return static_cast<std::byte>(number - 2 * half);
}

}  // namespace

View read_value_file(const std::string& path, const ValueInfo& info) {
  const std::string content = read_file(path);
  Expected<Value> value =
      parse_stored_value(std::as_bytes(std::span(content.data(), content.size())), info);
  if (!value) throw Failure(Error(value.error()).at(path));
  return value->view();
}

View as_declared(const View& tensor, const ValueInfo& info, const std::string& name) {
  const DType held_as = tensor.dtype;
  const bool is_signed = dtype_kind(info.dtype) == DTypeKind::signed_int;
  const bool possible = held_as == DType::u8 || (held_as == DType::i8 && is_signed);
  if (info.kind != ValueKind::tensor || !is_held_as_bytes(info.dtype) || !possible) return tensor;
  Fresh fresh = make_view(info.dtype, tensor.shape, name);
  const std::int64_t count = count_elements(tensor.shape).value_or(0);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::byte* const held = element_at(tensor, i);
    const auto element = element_of(*held, info.dtype, held_as);
    if (!element)
      fail(Code::invalid_argument, name + ": at " + index_text(tensor.shape, i) + " it is " +
                                       number_text(held_as, held) + ", which is not a valid " +
                                       numpy_name(info.dtype));
    fresh.data[i] = *element;
  }
  return fresh.view;
}

std::string value_text(const View& view) {
  if (view.kind == ValueKind::tensor) return type_text(view.dtype, view.shape);
  if (view.kind == ValueKind::sequence) return "sequence of " + std::to_string(view.items.size());
  if (view.kind == ValueKind::map)
    return "map of " + std::to_string(count_elements(view.items[0].shape).value_or(0));
  return view.items.empty() ? "nothing" : "optional of " + value_text(view.items[0]);
}

}  // namespace scanloom::cli
