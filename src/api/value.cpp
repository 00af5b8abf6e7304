#include <scanloom/value.h>

#include "base/checked.h"

namespace scanloom {

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

std::vector<std::string_view> Value::strings() const {
  std::vector<std::string_view> texts;
  if (dtype_ != DType::string || !is_tensor()) return texts;
  const auto* const elements_of = static_cast<const StringRef*>(data());
  for (std::int64_t i = 0; i < elements(); ++i) texts.push_back(elements_of[i].view());
  return texts;
}

// The depth of nesting is that of the value's type, which is bounded.
View Value::view() const {
  View view{dtype_, shape_, data_.get(), {}, data_};
  view.kind = kind_;
  for (const Value& item : items()) view.items.push_back(item.view());
  return view;
}

}  // namespace scanloom
