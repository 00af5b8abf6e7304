// View and Value: tensors that go into a run and come out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <scanloom/dtype.h>

namespace scanloom {

/// Memory of the caller, read during the run and never written. `strides` are in elements; empty
/// means row-major. `owner`, if set, keeps the memory alive for as long as the library refers to
/// it.
struct View {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
  std::vector<std::int64_t> strides;
  std::shared_ptr<const void> owner;
};

/// A view of `data` as row-major elements; nothing is copied.
template <class T>
[[nodiscard]] View view(const T* data, std::initializer_list<std::int64_t> shape) {
  return {dtype_of<T>, std::vector<std::int64_t>(shape), data, {}, nullptr};
}
template <class T>
[[nodiscard]] View view(const T* data, std::vector<std::int64_t> shape) {
  return {dtype_of<T>, std::move(shape), data, {}, nullptr};
}

/// A result: row-major elements that the value owns together with its copies.
class SCANLOOM_API Value {
 public:
  Value() = default;
  Value(DType dtype, std::vector<std::int64_t> shape, std::shared_ptr<const void> data);

  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const std::vector<std::int64_t>& shape() const noexcept { return shape_; }
  [[nodiscard]] std::int64_t elements() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] const void* data() const noexcept { return data_.get(); }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const noexcept { return data_; }
  /// The elements as T; empty when T is not the element type.
  template <class T>
  [[nodiscard]] std::span<const T> as() const noexcept {
    if (dtype_of<T> != dtype_) return {};
    return {static_cast<const T*>(data()), static_cast<std::size_t>(elements())};
  }
  /// To feed it again; shares the memory.
  [[nodiscard]] View view() const;

 private:
  DType dtype_ = DType::f32;
  std::vector<std::int64_t> shape_;
  std::shared_ptr<const void> data_;
};

}  // namespace scanloom
