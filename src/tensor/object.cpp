#include "tensor/object.h"

#include <algorithm>
#include <memory>

namespace scanloom::tensor {

ObjectRef::ObjectRef(const ObjectRef& other) : object_(other.object_) {
  if (object_ != nullptr) object_->owners_.fetch_add(1, std::memory_order_relaxed);
}

ObjectRef::~ObjectRef() { release(); }

void ObjectRef::release() {
  if (object_ == nullptr || object_->owners_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // Nested boxes are put on a list, so that deep nesting does not cause deep recursion.
  Object* dead = std::exchange(object_, nullptr);
  while (dead != nullptr) {
    const std::unique_ptr<Object> object(dead);
    dead = object->next_dead_;
    for (ObjectRef& item : object->items_) {
      Object* inner = std::exchange(item.object_, nullptr);
      if (inner == nullptr || inner->owners_.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      inner->next_dead_ = dead;
      dead = inner;
    }
  }
}

ObjectRef ObjectRef::of(Tensor value) {
  auto object = std::make_unique<Object>(ObjectKind::tensor, value.dtype());
  object->tensor_ = std::move(value);
  return ObjectRef(object.release());
}

ObjectRef ObjectRef::sequence(DType dtype) {
  return ObjectRef(std::make_unique<Object>(ObjectKind::sequence, dtype).release());
}
ObjectRef ObjectRef::optional(DType dtype) {
  return ObjectRef(std::make_unique<Object>(ObjectKind::optional, dtype).release());
}

ObjectRef ObjectRef::optional_of(ObjectRef item) {
  ObjectRef result = optional(item->dtype());
  result->set_item(std::move(item));
  return result;
}

ObjectRef ObjectRef::map(ObjectRef keys, ObjectRef values) {
  ObjectRef result(std::make_unique<Object>(ObjectKind::map, values->dtype()).release());
  result->push_back(std::move(keys));
  result->push_back(std::move(values));
  return result;
}

bool ObjectRef::unique() const { return object_->owners_.load(std::memory_order_acquire) == 1; }

void ObjectRef::make_unique() {
  if (unique()) return;
  ObjectRef copy(std::make_unique<Object>(object_->kind_, object_->dtype_).release());
  copy->tensor_ = object_->tensor_;
  copy->items_ = object_->items_;
  *this = std::move(copy);
}

Object::~Object() {
  if (counter_) counter_->fetch_sub(counted_, std::memory_order_relaxed);
}

void Object::insert(std::size_t at, ObjectRef item) {
  items_.insert(items_.begin() + static_cast<std::ptrdiff_t>(at), std::move(item));
}

void Object::erase(std::size_t at) {
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at));
}

std::string describe(const ObjectRef& value) {
  if (!value) return "nothing";
  const std::string dtype(dtype_name(value->dtype()));
  switch (value->kind()) {
    case ObjectKind::tensor:
      return dtype + value->tensor().shape().to_string();
    case ObjectKind::sequence:
      return "sequence of " + std::to_string(value->items().size()) + " items of " + dtype;
    case ObjectKind::map:
      return "map from " + std::string(dtype_name(value->items()[0]->dtype())) + " to " + dtype;
    case ObjectKind::optional:
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

/// Whether a value is a map with keys of that type, one per value.
bool allows_map(DType keys, const ObjectRef& value) {
  if (value->kind() != ObjectKind::map || value->items().size() != 2) return false;
  for (const ObjectRef& item : value->items())
    if (!item || !item->is_tensor() || item->tensor().shape().rank() != 1) return false;
  return value->items()[0]->dtype() == keys &&
         value->items()[0]->tensor().elements() == value->items()[1]->tensor().elements();
}

}  // namespace

bool allows(const Type& type, const ObjectRef& value) {
  // Level by level: every level of the type is one of the values.
  std::vector<const ObjectRef*> level{&value};
  for (std::size_t depth = 0; depth <= type.wraps.size(); ++depth) {
    const bool innermost = depth == type.wraps.size();
    const ObjectKind kind = innermost ? ObjectKind::tensor : kind_of(type.wraps[depth]);
    std::vector<const ObjectRef*> next;
    for (const ObjectRef* object : level) {
      if (!*object || (*object)->kind() != kind || (*object)->dtype() != type.dtype) return false;
      if (innermost && !allows_tensor(type, (*object)->tensor())) return false;
      if (kind == ObjectKind::map) {
        if (!allows_map(key_dtype(type.wraps[depth]), *object)) return false;
        next.push_back(&(*object)->items()[1]);
        continue;
      }
      for (const ObjectRef& item : (*object)->items()) next.push_back(&item);
    }
    level = std::move(next);
  }
  return true;
}

}  // namespace scanloom::tensor
