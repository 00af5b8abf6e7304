// The operands of quantized convolutions, as the operator qlinear_conv and its kernels read them.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/call.h"
#include "tensor/scalar_arith.h"

namespace scanloom::tensor::qlinear_conv {

/// Operands of the node.
enum Input : std::uint8_t {
  kX,
  kXScale,
  kXZero,
  kW,
  kWScale,
  kWZero,
  kYScale,
  kYZero,
  kBias,
};

/// Element `at` of 8-bit data.
inline std::int16_t byte_at(const Operand& operand, const void* data, std::int64_t at) {
  return operand.dtype == DType::u8 ? std::int16_t{static_cast<const std::uint8_t*>(data)[at]}
                                    : std::int16_t{static_cast<const std::int8_t*>(data)[at]};
}
inline std::int16_t byte_at(const Operand& operand, std::int64_t at) {
  return byte_at(operand, operand.data<const void*>(), at);
}

/// The offset of a filter's parameter: a parameter with one element applies to all filters.
inline std::int64_t of_filter(const Operand& operand, std::int64_t filter) {
  return operand.rank == 1 && operand.dims[0] != 1 ? filter * operand.strides[0] : 0;
}

/// Rounds to nearest even and clamps to the type's range; NaN becomes 0.
template <class T>
T limited(float scaled, int zero) {
  return arith::convert<T>(std::nearbyint(static_cast<double>(scaled)) + zero);
}

}  // namespace scanloom::tensor::qlinear_conv
