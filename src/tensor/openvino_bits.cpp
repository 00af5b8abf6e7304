#include "tensor/openvino_bits.h"

#include <utility>

#include "tensor/raw_data.h"

namespace scanloom::tensor {
namespace {

/// Location of a part of an element: `count` bits of byte `byte`, from bit `shift` on.
struct Bits {
  std::size_t byte = 0;
  unsigned shift = 0, count = 0;
};

/// The lower and the upper bits of an element; u1 has no upper ones.
std::pair<Bits, Bits> bits_of(DType dtype, std::size_t element) {
  if (dtype == DType::u1)
    return {{element / 8, static_cast<unsigned>(7 - element % 8), 1}, {element / 8, 0, 0}};
  const std::size_t per_group = dtype == DType::u3 ? 8 : 4, per_byte = per_group / 2;
  const unsigned low = dtype == DType::u3 ? 2 : 4, high = low / 2;
  const std::size_t group = element / per_group * 3, at = element % per_group;
  return {{group + at / per_byte, static_cast<unsigned>(per_byte - 1 - at % per_byte) * low, low},
          {group + 2, static_cast<unsigned>(per_group - 1 - at) * high, high}};
}

unsigned mask_of(const Bits& bits) { return (1u << bits.count) - 1; }

}  // namespace

bool has_own_bits(DType dtype) {
  return dtype == DType::u1 || dtype == DType::u3 || dtype == DType::u6;
}

std::uint64_t openvino_bytes(DType dtype, std::int64_t elements) {
  if (dtype != DType::u3 && dtype != DType::u6) return file_bytes(dtype, elements);
  // Groups are whole. At most 2^40 elements: no overflow.
  const std::uint64_t per_group = dtype == DType::u3 ? 8 : 4;
  return (static_cast<std::uint64_t>(elements) + per_group - 1) / per_group * 3;
}

Expected<Tensor> unpack_openvino(DType dtype, const Shape& shape, std::string_view bytes) {
  SCANLOOM_TRY(Tensor tensor, Tensor::zeros(dtype, shape));
  auto* const out = static_cast<std::uint8_t*>(tensor.mutable_data());
  const auto part = [&](const Bits& bits) {
    return static_cast<unsigned>(static_cast<std::uint8_t>(bytes[bits.byte])) >> bits.shift &
           mask_of(bits);
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.elements()); ++i) {
    const auto [low, high] = bits_of(dtype, i);
    out[i] = static_cast<std::uint8_t>(part(low) | part(high) << low.count);
  }
  return tensor;
}

std::string pack_openvino(const Tensor& tensor) {
  std::string bytes(openvino_bytes(tensor.dtype(), tensor.elements()), '\0');
  const auto* const values = static_cast<const std::uint8_t*>(tensor.data());
  const auto put = [&](const Bits& bits, unsigned value) {
    const unsigned old = static_cast<std::uint8_t>(bytes[bits.byte]);
    bytes[bits.byte] = static_cast<char>(old | (value & mask_of(bits)) << bits.shift);
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.elements()); ++i) {
    const auto [low, high] = bits_of(tensor.dtype(), i);
    put(low, values[i]);
    put(high, static_cast<unsigned>(values[i]) >> low.count);
  }
  return bytes;
}

}  // namespace scanloom::tensor
