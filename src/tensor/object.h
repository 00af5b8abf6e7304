// Objects: sequences, optionals, maps, and the tensors inside them or of strings: values that no
// arena holds. The reference count is inside the object and can test for a unique owner, so that
// appending in a loop is done in place. Tensors whose sizes change in a loop are in
// runtime/dynamic_tensors.h instead.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "tensor/memory_account.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

namespace scanloom::tensor {

/// A map has two items: the tensor of its keys and that of its values, both with one axis.
enum class ObjectKind : std::uint8_t { tensor, sequence, optional, map };

[[nodiscard]] constexpr ObjectKind kind_of(Wrap wrap) {
  if (is_map(wrap)) return ObjectKind::map;
  return wrap == Wrap::sequence ? ObjectKind::sequence : ObjectKind::optional;
}

class Object;

/// A counted reference; null by default. Copying increments the count. Contents are shared and may
/// only be changed while unique(). Counting is thread safe, contents are not.
class ObjectRef {
 public:
  ObjectRef() = default;
  ObjectRef(const ObjectRef& other);
  ObjectRef(ObjectRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ObjectRef& operator=(ObjectRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~ObjectRef();

  static ObjectRef of(Tensor value);
  /// An empty sequence whose items have element type `dtype`.
  static ObjectRef sequence(DType dtype);
  /// An empty optional; fill it with set_item.
  static ObjectRef optional(DType dtype);
  static ObjectRef optional_of(ObjectRef item);
  /// Preconditions: tensors with one axis of the same size; the keys are i64 or strings.
  static ObjectRef map(ObjectRef keys, ObjectRef values);

  explicit operator bool() const { return object_ != nullptr; }
  Object& operator*() const { return *object_; }
  Object* operator->() const { return object_; }
  /// Whether this is the only reference to the object. Precondition: not null.
  [[nodiscard]] bool unique() const;
  /// Makes this the only reference to the sequence or optional: if it is shared, copies the list of
  /// references.
  void make_unique();

 private:
  explicit ObjectRef(Object* object) : object_(object) {}
  void release();
  Object* object_ = nullptr;
};

/// The contents. Methods that change them require that the ObjectRef they are called through is
/// unique().
class Object {
 public:
  /// For the factory functions of ObjectRef.
  Object(ObjectKind kind, DType dtype) : kind_(kind), dtype_(dtype) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object();

  [[nodiscard]] ObjectKind kind() const { return kind_; }
  [[nodiscard]] bool is_tensor() const { return kind_ == ObjectKind::tensor; }
  /// The element type of the tensors, at any depth; of maps, that of their values.
  [[nodiscard]] DType dtype() const { return dtype_; }
  /// Precondition: is_tensor().
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }

  // Sequences, optionals (at most one item) and maps (two items).
  [[nodiscard]] std::span<const ObjectRef> items() const { return items_; }
  void push_back(ObjectRef item) { items_.push_back(std::move(item)); }
  /// Preconditions: 0 <= at <= items().size() to insert, at < items().size() to erase.
  void insert(std::size_t at, ObjectRef item);
  void erase(std::size_t at);
  void set_item(ObjectRef item) { items_.assign(1, std::move(item)); }

  /// The bytes of the object and its list, without the values that it refers to.
  [[nodiscard]] std::int64_t own_bytes() const {
    return static_cast<std::int64_t>(sizeof(Object) + items_.capacity() * sizeof(ObjectRef));
  }

 private:
  friend class ObjectRef;
  friend class MemoryAccount;

  std::atomic<std::uint32_t> owners_{1};
  ObjectKind kind_;
  DType dtype_;
  Tensor tensor_;
  std::vector<ObjectRef> items_;
  std::shared_ptr<MemoryAccount::Counter> counter_;  ///< null: not counted
  std::int64_t counted_ = 0;
  Object* next_dead_ = nullptr;  ///< while being destroyed
};

/// "f32[2,3]", "sequence of 4 items of f32", "empty optional of f32": for messages.
std::string describe(const ObjectRef& value);

/// Whether a value of this type may be `value`: checks kinds, element types and constant sizes, of
/// every item.
bool allows(const Type& type, const ObjectRef& value);

}  // namespace scanloom::tensor
