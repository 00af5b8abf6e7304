// View and Value: what goes into a run and comes out of it: tensors, sequences, optionals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <scanloom/dtype.h>

namespace scanloom {

enum class ValueKind : std::uint8_t { tensor, sequence, optional };

/// Memory of the caller, read during the run and never written. `strides` are in elements; empty
/// means row-major. `owner`, if set, keeps the memory alive for as long as the library refers to
/// it. Elements of strings are StringRefs. Sequences have `items` and no data of their own;
/// optionals have one item or none. An input that is an optional takes what it would hold, too.
struct View {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape = {};
  const void* data = nullptr;
  std::vector<std::int64_t> strides = {};
  std::shared_ptr<const void> owner = {};
  ValueKind kind = ValueKind::tensor;
  std::vector<View> items = {};
};

/// A view of `data` as row-major elements; nothing is copied.
template <class T>
[[nodiscard]] View view(const T* data, std::initializer_list<std::int64_t> shape) {
  return {dtype_of<T>, std::vector<std::int64_t>(shape), data};
}
template <class T>
[[nodiscard]] View view(const T* data, std::vector<std::int64_t> shape) {
  return {dtype_of<T>, std::move(shape), data};
}

/// A tensor of strings, which are copied: as many as the shape has elements.
[[nodiscard]] SCANLOOM_API View strings(std::span<const std::string> texts,
                                        std::vector<std::int64_t> shape);
/// A sequence of these items; without any, of elements of that type.
[[nodiscard]] SCANLOOM_API View sequence(std::vector<View> items, DType dtype = DType::f32);
/// An optional that holds nothing.
[[nodiscard]] SCANLOOM_API View none(DType dtype = DType::f32);

/// A result, which owns its elements together with its copies: a tensor of row-major elements, a
/// sequence, or an optional.
class SCANLOOM_API Value {
 public:
  Value() = default;
  Value(DType dtype, std::vector<std::int64_t> shape, std::shared_ptr<const void> data);
  /// A sequence of items, or an optional of one or none.
  Value(ValueKind kind, DType dtype, std::vector<Value> items);

  [[nodiscard]] ValueKind kind() const noexcept { return kind_; }
  [[nodiscard]] bool is_tensor() const noexcept { return kind_ == ValueKind::tensor; }
  /// Of the tensors, however deep they lie.
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  /// Of a sequence, in order; of an optional the one it holds, or none.
  [[nodiscard]] std::span<const Value> items() const noexcept;

  // Of tensors.
  [[nodiscard]] const std::vector<std::int64_t>& shape() const noexcept { return shape_; }
  [[nodiscard]] std::int64_t elements() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] const void* data() const noexcept { return data_.get(); }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const noexcept { return data_; }
  /// The elements as T; empty when T is not the element type.
  template <class T>
  [[nodiscard]] std::span<const T> as() const noexcept {
    if (dtype_of<T> != dtype_ || !is_tensor()) return {};
    return {static_cast<const T*>(data()), static_cast<std::size_t>(elements())};
  }
  /// The elements of a tensor of strings, valid as long as the value; empty for other values.
  [[nodiscard]] std::vector<std::string_view> strings() const;
  /// To feed it again; shares the memory.
  [[nodiscard]] View view() const;

 private:
  DType dtype_ = DType::f32;
  std::vector<std::int64_t> shape_;
  std::shared_ptr<const void> data_;
  ValueKind kind_ = ValueKind::tensor;
  std::shared_ptr<const std::vector<Value>> items_;
};

}  // namespace scanloom
