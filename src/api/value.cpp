#include <scanloom/value.h>

#include "base/checked.h"
#include "base/expected.h"

namespace scanloom {
namespace {

/// The code that reads elements of this type.
std::string_view reader_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "as<float>()";
    case DType::f64:
      return "as<double>()";
    case DType::i8:
      return "as<std::int8_t>()";
    case DType::i16:
      return "as<std::int16_t>()";
    case DType::i32:
      return "as<std::int32_t>()";
    case DType::i64:
      return "as<std::int64_t>()";
    case DType::u8:
      return "as<std::uint8_t>()";
    case DType::u16:
      return "as<std::uint16_t>()";
    case DType::u32:
      return "as<std::uint32_t>()";
    case DType::u64:
      return "as<std::uint64_t>()";
    case DType::boolean:
      return "as<bool>()";
    case DType::string:
      return "strings()";
    case DType::f16:
    case DType::bf16:
    case DType::c64:
    case DType::c128:
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0:
    case DType::f4e2m1:
    case DType::nf4:
    case DType::u1:
    case DType::u2:
    case DType::u3:
    case DType::u4:
    case DType::u6:
    case DType::i2:
    case DType::i4:
      break;
  }
  return "data()";  // C++ has no type for these
}

std::string sizes_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

}  // namespace

View strings(std::span<const std::string> texts, std::vector<std::int64_t> shape) {
  struct Storage {
    std::vector<std::string> texts;
    std::vector<StringRef> elements;
  };
  auto storage = std::make_shared<Storage>();
  storage->texts.assign(texts.begin(), texts.end());
  for (const std::string& text : storage->texts)
    storage->elements.push_back({text.data(), static_cast<std::int64_t>(text.size())});
  const StringRef* const data = storage->elements.data();
  return {DType::string, std::move(shape), data, {}, std::move(storage)};
}

View sequence(std::vector<View> items, DType dtype) {
  View view;
  view.dtype = items.empty() ? dtype : items.front().dtype;
  view.kind = ValueKind::sequence;
  view.items = std::move(items);
  return view;
}

View map(View keys, View values) {
  View view;
  view.dtype = values.dtype;
  view.kind = ValueKind::map;
  view.items.push_back(std::move(keys));
  view.items.push_back(std::move(values));
  return view;
}

View none(DType dtype) {
  View view;
  view.dtype = dtype;
  view.kind = ValueKind::optional;
  return view;
}

Value::Value(DType dtype, std::vector<std::int64_t> shape, std::shared_ptr<const void> data)
    : dtype_(dtype), shape_(std::move(shape)), data_(std::move(data)) {}

Value::Value(ValueKind kind, DType dtype, std::vector<Value> items)
    : dtype_(dtype),
      kind_(kind),
      items_(std::make_shared<const std::vector<Value>>(std::move(items))) {}

std::span<const Value> Value::items() const noexcept {
  if (!items_) return {};
  return *items_;
}

std::int64_t Value::elements() const noexcept {
  return data_ ? checked_product(shape_).value_or(0) : 0;
}

std::size_t Value::bytes() const noexcept {
  return static_cast<std::size_t>(elements()) * dtype_bytes(dtype_);
}

Error Value::other_type(DType asked) const {
  const std::string what = name_.empty() ? "the value" : "value '" + name_ + "'";
  if (is_tensor())
    return fail(Code::invalid_argument, "{} is {}{}, not {}: use {} to read it", what,
                dtype_name(dtype_), sizes_text(shape_), dtype_name(asked), reader_of(dtype_));
  return fail(Code::invalid_argument,
              "{} is {} of {}, not a tensor of {}: use items() for its tensors", what,
              kind_ == ValueKind::sequence ? "a sequence"
              : kind_ == ValueKind::map    ? "a map"
                                           : "an optional",
              dtype_name(dtype_), dtype_name(asked));
}

Expected<std::vector<std::string_view>> Value::try_strings() const {
  SCANLOOM_TRY(const std::span<const StringRef> elements_of, try_as<StringRef>());
  std::vector<std::string_view> texts;
  for (const StringRef& element : elements_of) texts.push_back(element.view());
  return texts;
}

// Recursion is as deep as the value's type, which is bounded.
View Value::view() const {
  View view{dtype_, shape_, data_.get(), {}, data_};
  view.kind = kind_;
  for (const Value& item : items()) view.items.push_back(item.view());
  return view;
}

}  // namespace scanloom
