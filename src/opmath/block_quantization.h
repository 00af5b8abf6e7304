// Numbers of 2, 4 or 8 bits that are quantized in blocks along their last axis, as the operators
// dequantize_blocks and matmul_nbits and their kernels read them. The lowest bits of a byte are the
// first number; every block has a scale and, if there are any, a zero point.
#pragma once

#include <cstdint>

#include "tensor/call.h"

namespace scanloom::tensor::block_quantization {

/// The smallest block: its numbers fill whole bytes.
inline constexpr std::int64_t kMinBlock = 16;

/// Operands of dequantize_blocks, and of matmul_nbits after its first one.
enum Input : std::uint8_t { kBytes, kScales, kZeros };
/// Attributes of both.
enum Attribute : std::uint8_t { kBits, kBlock, kSize };

struct BlockFormat {
  std::int64_t bits = 4, block = 32, size = 0;  ///< size: numbers along the last axis

  static BlockFormat of(std::span<const Attr> attrs) {
    return {attrs[kBits].integer(), attrs[kBlock].integer(), attrs[kSize].integer()};
  }
  [[nodiscard]] std::int64_t blocks() const { return (size + block - 1) / block; }
  [[nodiscard]] std::int64_t bytes() const { return blocks() * block * bits / 8; }
  /// The zero point of all blocks if none is given.
  [[nodiscard]] float middle() const { return static_cast<float>(std::int64_t{1} << (bits - 1)); }
  /// The number in a byte, `i` being its position along the axis.
  [[nodiscard]] float number(std::uint8_t byte, std::int64_t i) const {
    const auto shift = static_cast<unsigned>(i * bits % 8);
    return static_cast<float>((byte >> shift) & ((1U << bits) - 1U));
  }
};

/// A zero point, which is a byte or of the type f32.
inline float zero_at(const Operand& zeros, std::int64_t offset) {
  return zeros.dtype == DType::u8 ? static_cast<float>(zeros.data<const std::uint8_t>()[offset])
                                  : zeros.data<const float>()[offset];
}

}  // namespace scanloom::tensor::block_quantization
