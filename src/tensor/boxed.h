// Boxed values: sequences, optionals, and the tensors in them or of strings: what no arena holds.
// Counted by reference inside the box, with a test for being the only owner, so that appending in
// a loop is done in place. Tensors whose sizes change in a loop: runtime/values.h has them.
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

  static BoxRef of(Tensor value);
  /// An empty sequence of items around elements of that type.
  static BoxRef sequence(DType dtype);
  /// An empty optional; fill it with set_item.
  static BoxRef optional(DType dtype);
  static BoxRef optional_of(BoxRef item);

  explicit operator bool() const { return box_ != nullptr; }
  Box& operator*() const { return *box_; }
  Box* operator->() const { return box_; }
  /// Whether nobody else refers to the box. Precondition: not null.
  [[nodiscard]] bool unique() const;
  /// Makes the sequence or optional one's own: copies its references if it is shared.
  void make_unique();

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
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;
  ~Box();

  [[nodiscard]] BoxKind kind() const { return kind_; }
  [[nodiscard]] bool is_tensor() const { return kind_ == BoxKind::tensor; }
  /// Of the tensors, however deep they lie.
  [[nodiscard]] DType dtype() const { return dtype_; }
  /// Precondition: is_tensor().
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }

  // Sequences and optionals (at most one item).
  [[nodiscard]] std::span<const BoxRef> items() const { return items_; }
  void push_back(BoxRef item) { items_.push_back(std::move(item)); }
  /// Precondition: 0 <= at <= items().size(), resp. <.
  void insert(std::size_t at, BoxRef item);
  void erase(std::size_t at);
  void set_item(BoxRef item) { items_.assign(1, std::move(item)); }

  /// The box and its list, without what they refer to.
  [[nodiscard]] std::int64_t own_bytes() const {
    return static_cast<std::int64_t>(sizeof(Box) + items_.capacity() * sizeof(BoxRef));
  }

 private:
  friend class BoxRef;
  friend class MemoryAccount;

  std::atomic<std::uint32_t> owners_{1};
  BoxKind kind_;
  DType dtype_;
  Tensor tensor_;
  std::vector<BoxRef> items_;
  std::shared_ptr<MemoryAccount::Counter> counter_;  ///< null: not counted
  std::int64_t counted_ = 0;
  Box* next_dead_ = nullptr;  ///< while being destroyed
};

/// "f32[2,3]", "sequence of 4 items of f32", "empty optional of f32": for messages.
std::string describe(const BoxRef& value);

/// Whether a value of that type may be this one: kinds, element types and sizes that are numbers,
/// of every item.
bool allows(const Type& type, const BoxRef& value);

}  // namespace scanloom::tensor
