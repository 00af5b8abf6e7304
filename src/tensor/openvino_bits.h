// How elements narrower than a byte are stored in the weights of an IR. u2, u4, i4 and the reals of
// four bits are stored as in ONNX, the first element in the lowest bits. u1 begins with the highest
// bit. u3 and u6 are split: of every eight (four) elements in three bytes, the first two bytes hold
// the lower bits, two (four) each, and the third one the upper bits, one (two) each; the first
// element has the highest place everywhere. Source: OpenVINO's operation sets, "element types".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace scanloom::tensor {

/// Returns how many bytes of weights `elements` elements take. Precondition: no strings.
[[nodiscard]] std::uint64_t openvino_bytes(DType dtype, std::int64_t elements);

/// Whether the bytes differ from those of raw data (tensor/raw_data.h).
[[nodiscard]] bool has_own_bits(DType dtype);

/// Returns the elements as a tensor. Preconditions: has_own_bits(dtype), and as many bytes as
/// openvino_bytes() says. Error: out of memory.
Expected<Tensor> unpack_openvino(DType dtype, const Shape& shape, std::string_view bytes);

/// Returns the bytes of the elements. Precondition: has_own_bits(tensor.dtype()).
[[nodiscard]] std::string pack_openvino(const Tensor& tensor);

}  // namespace scanloom::tensor
