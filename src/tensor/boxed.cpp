#include "tensor/boxed.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/assert.h"

namespace scanloom::tensor {

BoxRef::BoxRef(const BoxRef& other) : box_(other.box_) {
  if (box_ != nullptr) box_->owners_.fetch_add(1, std::memory_order_relaxed);
}

BoxRef::~BoxRef() { release(); }

void BoxRef::release() {
  if (box_ == nullptr || box_->owners_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // Boxes inside boxes join a list, so that the depth of nesting is no depth of recursion.
  Box* dead = std::exchange(box_, nullptr);
  while (dead != nullptr) {
    const std::unique_ptr<Box> box(dead);
    dead = box->next_dead_;
    for (BoxRef& item : box->items_) {
      Box* inner = std::exchange(item.box_, nullptr);
      if (inner == nullptr || inner->owners_.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      inner->next_dead_ = dead;
      dead = inner;
    }
  }
}

BoxRef BoxRef::of(Tensor value) {
  auto box = std::make_unique<Box>(BoxKind::tensor, value.dtype());
  box->shape_ = value.shape();
  box->storage_ = std::move(value);
  return BoxRef(box.release());
}

BoxRef BoxRef::sequence(DType dtype) {
  return BoxRef(std::make_unique<Box>(BoxKind::sequence, dtype).release());
}
BoxRef BoxRef::optional(DType dtype) {
  return BoxRef(std::make_unique<Box>(BoxKind::optional, dtype).release());
}

BoxRef BoxRef::optional_of(BoxRef item) {
  BoxRef result = optional(item->dtype());
  result->set_item(std::move(item));
  return result;
}

bool BoxRef::unique() const { return box_->owners_.load(std::memory_order_acquire) == 1; }

Expected<void> BoxRef::make_unique() {
  if (unique()) return {};
  if (box_->kind_ == BoxKind::tensor) {
    // A second box over the same storage; its first write takes new one.
    *this = of(box_->tensor());
    return {};
  }
  BoxRef copy(std::make_unique<Box>(box_->kind_, box_->dtype_).release());
  copy->items_ = box_->items_;
  *this = std::move(copy);
  return {};
}

bool Box::writable() const {
  if (capacity_ == 0 || storage_.owner().use_count() != 1) return false;
  // Whoever held the storage before has finished reading it.
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

Expected<void> Box::reserve(std::size_t bytes, std::size_t kept) {
  const bool own = writable();
  if (own && bytes <= capacity_) return {};
  const std::size_t wanted = own ? std::max(bytes, capacity_ + capacity_ / 2) : bytes;
  const std::size_t size = dtype_bytes(dtype_);
  SCANLOOM_TRY(Tensor grown,
               Tensor::zeros(dtype_, {static_cast<std::int64_t>((wanted + size - 1) / size)}));
  if (kept > 0) std::memcpy(grown.mutable_data(), storage_.data(), kept);
  capacity_ = std::max<std::size_t>(grown.bytes(), 1);
  storage_ = std::move(grown);
  return {};
}

Expected<void> Box::resize(const Shape& shape) {
  SCANLOOM_ASSERT(kind_ == BoxKind::tensor && dtype_ != DType::string);
  const auto count = shape.checked_elements();
  if (!count)
    return fail(Code::invalid_argument, "a tensor cannot have the shape {}", shape.to_string());
  SCANLOOM_CHECK_OK(reserve(static_cast<std::size_t>(*count) * dtype_bytes(dtype_), 0));
  shape_ = shape;
  return {};
}

Expected<void> Box::append(const void* rows, std::int64_t count) {
  SCANLOOM_ASSERT(kind_ == BoxKind::tensor && dtype_ != DType::string && shape_.rank() > 0);
  const auto old_bytes = static_cast<std::size_t>(shape_.elements()) * dtype_bytes(dtype_);
  Shape grown = shape_;
  if (__builtin_add_overflow(grown[0], count, &grown[0]) || !grown.checked_elements())
    return fail(Code::invalid_argument, "a tensor of shape {} cannot take {} more rows",
                shape_.to_string(), count);
  const auto bytes = static_cast<std::size_t>(grown.elements()) * dtype_bytes(dtype_);
  SCANLOOM_CHECK_OK(reserve(bytes, old_bytes));
  if (bytes > old_bytes) std::memcpy(mutable_data() + old_bytes, rows, bytes - old_bytes);
  shape_ = grown;
  return {};
}

void Box::insert(std::size_t at, BoxRef item) {
  items_.insert(items_.begin() + static_cast<std::ptrdiff_t>(at), std::move(item));
}

void Box::erase(std::size_t at) { items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at)); }

}  // namespace scanloom::tensor
