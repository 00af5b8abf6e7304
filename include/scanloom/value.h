// View and Value: the inputs and results of a run: tensors, sequences, optionals, maps.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <scanloom/dtype.h>
#include <scanloom/expected.h>

namespace scanloom {

/// A C++ type that elements can be fed and read as: the types of dtype_of, and StringRef for
/// strings.
template <class T>
concept Element = std::same_as<T, StringRef> || dtype_of<T> != DType::string;

enum class ValueKind : std::uint8_t { tensor, sequence, optional, map };

/// The caller's memory, read during the run and never written. `strides` are in elements; empty
/// means row-major. `owner`, if set, keeps the memory alive as long as the library refers to it.
/// Elements of strings are StringRefs. Sequences have `items` and no data of their own; optionals
/// have one item or none. Maps have two items: the tensor of their keys, int64 or strings, and the
/// tensor of their values, each with one axis. An input that is an optional also accepts the bare
/// value that it would hold.
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
template <Element T>
[[nodiscard]] View view(const T* data, std::initializer_list<std::int64_t> shape) {
  return {dtype_of<T>, std::vector<std::int64_t>(shape), data};
}
template <Element T>
[[nodiscard]] View view(const T* data, std::vector<std::int64_t> shape) {
  return {dtype_of<T>, std::move(shape), data};
}

/// A tensor of strings, one per element of the shape. The strings are copied.
[[nodiscard]] SCANLOOM_API View strings(std::span<const std::string> texts,
                                        std::vector<std::int64_t> shape);
/// A sequence of these items; `dtype` is the element type if there are none.
[[nodiscard]] SCANLOOM_API View sequence(std::vector<View> items, DType dtype = DType::f32);
/// A map from each key to the value at the same position. `keys` has one axis and is int64 or
/// string; `values` has as many elements. The run checks both, and that no key occurs twice.
[[nodiscard]] SCANLOOM_API View map(View keys, View values);
/// An empty optional.
[[nodiscard]] SCANLOOM_API View none(DType dtype = DType::f32);

/// A result: a tensor of row-major elements, a sequence, an optional, or a map. Copies share the
/// elements.
class SCANLOOM_API Value {
 public:
  Value() = default;
  Value(DType dtype, std::vector<std::int64_t> shape, std::shared_ptr<const void> data);
  /// A sequence of items, an optional of one item or none, or a map of keys and values.
  Value(ValueKind kind, DType dtype, std::vector<Value> items);

  /// The name of the output; empty for values without a name.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] ValueKind kind() const noexcept { return kind_; }
  [[nodiscard]] bool is_tensor() const noexcept { return kind_ == ValueKind::tensor; }
  /// The element type of the tensors, at any depth; of maps, that of their values.
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  /// The items of a sequence, in order; for an optional, the one it holds, or none; for a map, the
  /// tensor of its keys and that of its values.
  [[nodiscard]] std::span<const Value> items() const noexcept;

  // Tensors only.
  [[nodiscard]] const std::vector<std::int64_t>& shape() const noexcept { return shape_; }
  [[nodiscard]] std::int64_t elements() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] const void* data() const noexcept { return data_.get(); }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const noexcept { return data_; }
  /// The elements of a tensor, valid as long as a copy of the value exists. Error: invalid_argument
  /// (T is not the element type, or the value is not a tensor), naming the value, its type and T's.
  template <Element T>
  [[nodiscard]] Expected<std::span<const T>> try_as() const {
    if (dtype_of<T> != dtype_ || !is_tensor()) return other_type(dtype_of<T>);
    return std::span(static_cast<const T*>(data()), static_cast<std::size_t>(elements()));
  }
  /// The same, for callers who know the type. Throws Failure if try_as() fails.
  template <Element T>
  [[nodiscard]] std::span<const T> as() const {
    return try_as<T>().value_or_throw();
  }
  /// The elements of a tensor of strings, valid as long as a copy of the value exists. Error:
  /// invalid_argument (another value).
  [[nodiscard]] Expected<std::vector<std::string_view>> try_strings() const;
  /// The same. Throws Failure if try_strings() fails.
  [[nodiscard]] std::vector<std::string_view> strings() const {
    return try_strings().value_or_throw();
  }
  /// A view that shares the memory, to feed the value again.
  [[nodiscard]] View view() const;

 private:
  friend class Results;
  [[nodiscard]] Error other_type(DType asked) const;

  std::string name_;
  DType dtype_ = DType::f32;
  std::vector<std::int64_t> shape_;
  std::shared_ptr<const void> data_;
  ValueKind kind_ = ValueKind::tensor;
  std::shared_ptr<const std::vector<Value>> items_;
};

}  // namespace scanloom
