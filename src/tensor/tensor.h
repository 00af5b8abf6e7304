// Tensor: shape, element type and shared, contiguous storage. Constants of a module, feeds of the
// interpreter and results handed to users are Tensors; copying one shares the storage. In every
// Tensor a boolean is 0 or 1, and an element narrower than a byte is extended to its byte
// (sign-extended if signed, else with zeros). Kernels rely on this; code that makes Tensors from
// foreign bytes (feeds, files) must ensure it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <scanloom/dtype.h>

#include "base/expected.h"
#include "tensor/shape.h"

namespace scanloom::tensor {

using scanloom::StringRef;

class Tensor {
 public:
  Tensor() = default;
  /// A tensor over foreign storage, kept alive by `owner` (a mapped file, a numpy array).
  Tensor(DType dtype, Shape shape, std::shared_ptr<const void> owner, const void* data)
      : dtype_(dtype), shape_(shape), owner_(std::move(owner)), data_(data) {}

  /// A tensor of zeros in storage of its own, 64-byte aligned and padded to a multiple of 64 bytes.
  /// Errors: invalid_argument (more than 2^40 elements), out_of_memory.
  static Expected<Tensor> zeros(DType dtype, const Shape& shape);
  static Expected<Tensor> copy_of(DType dtype, const Shape& shape, const void* data);
  static Expected<Tensor> of_strings(const Shape& shape, std::span<const std::string> values);
  /// A scalar; T is one of the C++ types that dtype_of names.
  template <class T>
  static Tensor scalar(T value) {
    Tensor tensor = *zeros(dtype_of<T>, {});
    *static_cast<T*>(tensor.mutable_data()) = value;
    return tensor;
  }
  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values) {
    return *copy_of(dtype_of<T>, shape, values.data());
  }

  [[nodiscard]] bool defined() const { return data_ != nullptr; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int64_t elements() const { return shape_.elements(); }
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(elements()) * dtype_bytes(dtype_);
  }
  [[nodiscard]] const void* data() const { return data_; }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }
  /// Precondition: made by zeros, copy_of or of, and not shared yet.
  [[nodiscard]] void* mutable_data() { return const_cast<void*>(data_); }
  /// Precondition: dtype() is that of T.
  template <class T>
  [[nodiscard]] std::span<const T> as() const {
    return {static_cast<const T*>(data_), static_cast<std::size_t>(elements())};
  }
  /// Returns a tensor that shares the storage. Precondition: `shape` has the same number of
  /// elements.
  [[nodiscard]] Tensor reshaped(const Shape& shape) const {
    return Tensor(dtype_, shape, owner_, data_);
  }

 private:
  DType dtype_ = DType::f32;
  Shape shape_;
  std::shared_ptr<const void> owner_;
  const void* data_ = nullptr;
};

/// Bytes of the texts that the elements of a tensor of strings point to; 0 for other tensors.
std::int64_t text_bytes(const Tensor& tensor);
/// Bytes of the elements and their texts: the size of a copy of the tensor.
std::int64_t bytes_with_text(const Tensor& tensor);
/// Returns a tensor of strings that owns its texts; other tensors unchanged. (Copied StringRefs
/// still point into the tensor they were copied from.) The elements of a large tensor are
/// updated in place, so only the texts take memory. Precondition: made by zeros, and not shared
/// yet.
Expected<Tensor> with_own_strings(Tensor tensor);

/// Same dtype, shape and bits.
bool identical(const Tensor& a, const Tensor& b);
/// Integers of an integer or boolean tensor, widened; nullopt for other types.
std::optional<std::vector<std::int64_t>> to_integers(const Tensor& tensor);

}  // namespace scanloom::tensor
