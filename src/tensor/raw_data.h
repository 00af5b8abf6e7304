// Raw data of files as tensors: little-endian, C order; elements narrower than a byte are packed,
// the first in the lowest bits. Large data is not copied out of the mapped file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace scanloom::tensor {

/// Bytes, their owner, and how many readable bytes follow them.
struct OwnedBytes {
  std::shared_ptr<const void> owner;
  std::string_view bytes;
  std::size_t after = 0;
  bool has_length = true;  ///< false: the model does not say where they end
};

/// Checks the sizes given by a file. Errors: too many axes (unsupported), a negative size, too many
/// elements.
Expected<Shape> shape_of(std::span<const std::int64_t> dims);

/// Bytes that `elements` elements take in a file, packed. Precondition: no strings.
[[nodiscard]] std::uint64_t file_bytes(DType dtype, std::int64_t elements);

/// Unpacks elements narrower than a byte.
void unpack(DType dtype, std::string_view packed, std::int64_t elements, std::uint8_t* out);

/// Packs elements narrower than a byte as in a file.
[[nodiscard]] std::string pack(const Tensor& tensor);

/// Makes a tensor of the bytes. Errors: strings; a number of bytes other than the shape needs (with
/// both numbers).
Expected<Tensor> tensor_of_raw(DType dtype, const Shape& shape, OwnedBytes data);

}  // namespace scanloom::tensor
