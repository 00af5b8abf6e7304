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

  /// A tensor over foreign bytes that may be stored at any address. A copy at an aligned address is
  /// made when data() is first called, and kept. Precondition: no strings, no booleans.
  static Tensor at_any_address(DType dtype, const Shape& shape, std::shared_ptr<const void> owner,
                               const void* bytes);

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

  [[nodiscard]] bool defined() const { return data_ != nullptr || unaligned_ != nullptr; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int64_t elements() const { return shape_.elements(); }
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(elements()) * dtype_bytes(dtype_);
  }
  /// Throws std::bad_alloc if there is no memory for an aligned copy. Thread safe.
  [[nodiscard]] const void* data() const {
    return unaligned_ == nullptr ? data_ : aligned_copy(*unaligned_);
  }
  /// The elements where they are stored: at any address if !is_aligned().
  [[nodiscard]] const void* stored() const {
    return unaligned_ == nullptr ? data_ : stored_bytes();
  }
  /// False for at_any_address(), also after data() has been called.
  [[nodiscard]] bool is_aligned() const { return unaligned_ == nullptr; }
  /// Keeps data() and stored() alive.
  [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }
  /// Precondition: made by zeros, copy_of or of, and not shared yet.
  [[nodiscard]] void* mutable_data() { return const_cast<void*>(data_); }
  /// Precondition: dtype() is that of T.
  template <class T>
  [[nodiscard]] std::span<const T> as() const {
    return {static_cast<const T*>(data()), static_cast<std::size_t>(elements())};
  }
  /// Returns a tensor that shares the storage. Precondition: `shape` has the same number of
  /// elements.
  [[nodiscard]] Tensor reshaped(const Shape& shape) const {
    Tensor result(dtype_, shape, owner_, data_);
    result.unaligned_ = unaligned_;
    return result;
  }

 private:
  struct Unaligned;  // bytes at any address, and their copy
  static const void* aligned_copy(const Unaligned& unaligned);
  [[nodiscard]] const void* stored_bytes() const;

  DType dtype_ = DType::f32;
  Shape shape_;
  std::shared_ptr<const void> owner_;
  const void* data_ = nullptr;
  const Unaligned* unaligned_ = nullptr;  ///< owner_ keeps it alive
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
