#include <scanloom/value.h>

#include "base/checked.h"

namespace scanloom {

Value::Value(DType dtype, std::vector<std::int64_t> shape, std::shared_ptr<const void> data)
    : dtype_(dtype), shape_(std::move(shape)), data_(std::move(data)) {}

std::int64_t Value::elements() const noexcept {
  return data_ ? checked_product(shape_).value_or(0) : 0;
}

std::size_t Value::bytes() const noexcept {
  return static_cast<std::size_t>(elements()) * dtype_bytes(dtype_);
}

View Value::view() const { return {dtype_, shape_, data_.get(), {}, data_}; }

}  // namespace scanloom
