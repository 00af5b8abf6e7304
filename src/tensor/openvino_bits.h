// How the weights of an OpenVINO IR store elements narrower than a byte. u2, u4, i4 and 4-bit
// floating point are stored as in ONNX, the first element in the lowest bits. u1 begins with the
// highest bit. u3 and u6 are split: eight u3 (four u6) elements take three bytes, of which the
// first two hold the lower two (four) bits of each and the third the upper one (two) bits of each;
// the first element always has the highest position. Source: OpenVINO's operation sets, "element
// types".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace scanloom::tensor {

/// Returns how many bytes `elements` elements take. Precondition: no strings.
[[nodiscard]] std::uint64_t openvino_bytes(DType dtype, std::int64_t elements);

/// Whether the bytes differ from raw data (tensor/raw_data.h).
[[nodiscard]] bool has_own_bits(DType dtype);

/// Returns the elements as a tensor. Preconditions: has_own_bits(dtype), and `bytes` has the size
/// given by openvino_bytes(). Error: out of memory.
Expected<Tensor> unpack_openvino(DType dtype, const Shape& shape, std::string_view bytes);

/// Returns the bytes of the elements. Precondition: has_own_bits(tensor.dtype()).
[[nodiscard]] std::string pack_openvino(const Tensor& tensor);

}  // namespace scanloom::tensor
