// Raw data of files as tensors: little-endian, C order, elements narrower than a byte packed, the
// first of them in the lowest bits. Large data stays where it is, in the mapped file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace scanloom::tensor {

/// Bytes, who keeps them, and how many bytes after them are readable too.
struct OwnedBytes {
  std::shared_ptr<const void> owner;
  std::string_view bytes;
  std::size_t after = 0;
  bool has_length = true;  ///< false: the model does not say where they end
};

/// The sizes that a file says. Errors: too many axes (unsupported), a negative size, too many
/// elements.
Expected<Shape> shape_of(std::span<const std::int64_t> dims);

/// Bytes of `elements` elements in a file, packed. Precondition: no strings.
[[nodiscard]] std::uint64_t file_bytes(DType dtype, std::int64_t elements);

/// Takes elements narrower than a byte out of packed bytes.
void unpack(DType dtype, std::string_view packed, std::int64_t elements, std::uint8_t* out);

/// The other way: the bytes of a file for elements narrower than a byte.
[[nodiscard]] std::string pack(const Tensor& tensor);

/// Errors: strings, other than as many bytes as the shape needs (with both numbers).
Expected<Tensor> tensor_of_raw(DType dtype, const Shape& shape, OwnedBytes data);

}  // namespace scanloom::tensor
