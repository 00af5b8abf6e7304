#include "tensor/boxed.h"

#include <algorithm>
#include <memory>

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
  box->tensor_ = std::move(value);
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

void BoxRef::make_unique() {
  if (unique()) return;
  BoxRef copy(std::make_unique<Box>(box_->kind_, box_->dtype_).release());
  copy->tensor_ = box_->tensor_;
  copy->items_ = box_->items_;
  *this = std::move(copy);
}

Box::~Box() {
  if (counter_) counter_->fetch_sub(counted_, std::memory_order_relaxed);
}

void Box::insert(std::size_t at, BoxRef item) {
  items_.insert(items_.begin() + static_cast<std::ptrdiff_t>(at), std::move(item));
}

void Box::erase(std::size_t at) { items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at)); }

std::string describe(const BoxRef& value) {
  if (!value) return "nothing";
  const std::string dtype(dtype_name(value->dtype()));
  switch (value->kind()) {
    case BoxKind::tensor:
      return dtype + value->tensor().shape().to_string();
    case BoxKind::sequence:
      return "sequence of " + std::to_string(value->items().size()) + " items of " + dtype;
    case BoxKind::optional:
      break;
  }
  return (value->items().empty() ? "empty optional of " : "optional of ") + dtype;
}

namespace {

bool allows_tensor(const Type& type, const Tensor& tensor) {
  if (!type.ranked) return true;
  if (type.rank() != tensor.shape().rank()) return false;
  for (int axis = 0; axis < type.rank(); ++axis) {
    const Dim dim = type.dims[static_cast<std::size_t>(axis)];
    if (dim.is_constant() && dim.value() != tensor.shape()[axis]) return false;
  }
  return true;
}

}  // namespace

bool allows(const Type& type, const BoxRef& value) {
  // Level by level: every level of the type is one of the values.
  std::vector<const BoxRef*> level{&value};
  for (std::size_t depth = 0; depth <= type.wraps.size(); ++depth) {
    const bool innermost = depth == type.wraps.size();
    const BoxKind kind = innermost                             ? BoxKind::tensor
                         : type.wraps[depth] == Wrap::sequence ? BoxKind::sequence
                                                               : BoxKind::optional;
    std::vector<const BoxRef*> next;
    for (const BoxRef* box : level) {
      if (!*box || (*box)->kind() != kind || (*box)->dtype() != type.dtype) return false;
      if (innermost && !allows_tensor(type, (*box)->tensor())) return false;
      for (const BoxRef& item : (*box)->items()) next.push_back(&item);
    }
    level = std::move(next);
  }
  return true;
}

}  // namespace scanloom::tensor
