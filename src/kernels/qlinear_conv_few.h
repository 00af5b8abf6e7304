// Small quantized images, product by product, and what that has in common with larger ones
// (qlinear_conv.cpp).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/kernel.h"
#include "tensor/conv_geometry.h"

namespace scanloom::kernels::qlinear_conv {

using tensor::Operand;

/// Operands of the node.
enum Input : std::size_t {
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

/// Where the parameter of a filter stands: parameters with one element serve all.
inline std::int64_t of_filter(const Operand& operand, std::int64_t filter) {
  return operand.rank == 1 && operand.dims[0] != 1 ? filter * operand.strides[0] : 0;
}

/// Rounded to nearest, to even, and limited to the type's range; NaN becomes 0.
template <class T>
T limited(float scaled, int zero) {
  const double value = std::nearbyint(static_cast<double>(scaled)) + zero;
  if (value != value) return 0;
  if (value < std::numeric_limits<T>::min()) return std::numeric_limits<T>::min();
  if (value > std::numeric_limits<T>::max()) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

/// What `run_of.operator()<X, Y>()` gives for the types of x and y.
template <class RunOf>
tensor::KernelFn run_of_bytes(const PrepareCtx& ctx, const RunOf& run_of) {
  using U8 = std::uint8_t;
  using I8 = std::int8_t;
  const bool y_is_u8 = ctx.outputs[0].dtype == DType::u8;
  if (ctx.inputs[kX].dtype == DType::u8)
    return y_is_u8 ? run_of.template operator()<U8, U8>() : run_of.template operator()<U8, I8>();
  return y_is_u8 ? run_of.template operator()<I8, U8>() : run_of.template operator()<I8, I8>();
}

/// Whether images are so small that to unfold them takes longer than their products.
[[nodiscard]] bool has_few_products(const tensor::ConvGeometry& geometry);
/// Precondition: the weights and their zero points are constant.
[[nodiscard]] Prepared prepare_few_products(const PrepareCtx& ctx,
                                            const tensor::ConvGeometry& geometry);

}  // namespace scanloom::kernels::qlinear_conv
