// Boxed values: sequences and optionals, and the tensors in them. Counted by reference inside the
// box, with a test for being the only owner, so that appending in a loop happens in place. Tensors
// alone whose sizes change in a loop have a leaner form: runtime/state.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

namespace scanloom::tensor {

enum class BoxKind : std::uint8_t { tensor, sequence, optional };

class Box;

/// A counted reference; null by default. Copying counts up; contents are shared and must only be
/// changed while unique(). Counting is thread safe, contents are not.
class BoxRef {
 public:
  BoxRef() = default;
  BoxRef(const BoxRef& other);
  BoxRef(BoxRef&& other) noexcept : box_(std::exchange(other.box_, nullptr)) {}
  BoxRef& operator=(BoxRef other) noexcept {
    std::swap(box_, other.box_);
    return *this;
  }
  ~BoxRef();

  /// A tensor box around the tensor's storage, which stays shared until the first write.
  static BoxRef of(Tensor value);
  static BoxRef sequence(DType dtype);
  /// An empty optional; fill it with set_item.
  static BoxRef optional(DType dtype);
  static BoxRef optional_of(BoxRef item);

  explicit operator bool() const { return box_ != nullptr; }
  Box& operator*() const { return *box_; }
  Box* operator->() const { return box_; }
  /// Whether nobody else refers to the box. Precondition: not null.
  [[nodiscard]] bool unique() const;
  /// Makes the box one's own: copies it (for sequences and optionals, the references) if shared.
  Expected<void> make_unique();

 private:
  explicit BoxRef(Box* box) : box_(box) {}
  void release();
  Box* box_ = nullptr;
};

/// The contents. Every method that changes them asks that the BoxRef it is called through is
/// unique().
class Box {
 public:
  /// For BoxRef's makers.
  Box(BoxKind kind, DType dtype) : kind_(kind), dtype_(dtype) {}

  [[nodiscard]] BoxKind kind() const { return kind_; }
  [[nodiscard]] DType dtype() const { return dtype_; }

  // Tensors. Storage grows geometrically, so n appends of a row move O(n) rows.
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const std::byte* data() const {
    return static_cast<const std::byte*>(storage_.data());
  }
  /// Its own storage, for writing. Precondition: resize() or append() came since the last tensor().
  [[nodiscard]] std::byte* mutable_data() {
    return static_cast<std::byte*>(storage_.mutable_data());
  }
  /// The whole value. Shares the storage: while the result lives, resize() and append() take new.
  [[nodiscard]] Tensor tensor() const { return storage_.reshaped(shape_); }
  /// Takes that shape; the elements are undefined afterwards. Not for strings (use BoxRef::of).
  Expected<void> resize(const Shape& shape);
  /// Adds contiguous `rows` (count x the sizes behind axis 0) at the end of axis 0. Precondition:
  /// rank at least 1, not strings.
  Expected<void> append(const void* rows, std::int64_t count);

  // Sequences and optionals (at most one item).
  [[nodiscard]] std::span<const BoxRef> items() const { return items_; }
  void push_back(BoxRef item) { items_.push_back(std::move(item)); }
  /// Precondition: 0 <= at <= items().size(), resp. <.
  void insert(std::size_t at, BoxRef item);
  void erase(std::size_t at);
  void set_item(BoxRef item) { items_.assign(1, std::move(item)); }
  void clear() { items_.clear(); }

 private:
  friend class BoxRef;
  [[nodiscard]] bool writable() const;
  Expected<void> reserve(std::size_t bytes, std::size_t kept);

  std::atomic<std::uint32_t> owners_{1};
  BoxKind kind_;
  DType dtype_;
  std::size_t capacity_ = 0;  ///< bytes of storage_, when reserve() made it; else 0
  Shape shape_;
  Tensor storage_;
  std::vector<BoxRef> items_;
  Box* next_dead_ = nullptr;  ///< while being destroyed
};

}  // namespace scanloom::tensor
