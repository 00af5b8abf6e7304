// Quantized convolution of small images, product by product, and what it shares with the kernel for
// larger ones (qlinear_conv.cpp).
#pragma once

#include <cstdint>

#include "kernels/kernel.h"
#include "opmath/conv_geometry.h"
#include "opmath/quantized_conv.h"

namespace scanloom::kernels::qlinear_conv {

using enum tensor::qlinear_conv::Input;
using tensor::Operand;
using tensor::qlinear_conv::byte_at;
using tensor::qlinear_conv::limited;
using tensor::qlinear_conv::of_filter;

/// Returns `run_of.operator()<X, Y>()` for the types of x and y.
template <class RunOf>
tensor::KernelFn run_of_bytes(const PrepareCtx& ctx, const RunOf& run_of) {
  using U8 = std::uint8_t;
  using I8 = std::int8_t;
  if (ctx.outputs[0].dtype == DType::i32)
    return ctx.inputs[kX].dtype == DType::u8 ? run_of.template operator()<U8, std::int32_t>()
                                             : run_of.template operator()<I8, std::int32_t>();
  const bool y_is_u8 = ctx.outputs[0].dtype == DType::u8;
  if (ctx.inputs[kX].dtype == DType::u8)
    return y_is_u8 ? run_of.template operator()<U8, U8>() : run_of.template operator()<U8, I8>();
  return y_is_u8 ? run_of.template operator()<I8, U8>() : run_of.template operator()<I8, I8>();
}

/// Whether images are so small that unfolding them takes longer than multiplying.
[[nodiscard]] bool has_few_products(const tensor::ConvGeometry& geometry);
/// Precondition: the weights and their zero points are constant.
[[nodiscard]] Prepared prepare_few_products(const PrepareCtx& ctx,
                                            const tensor::ConvGeometry& geometry);

}  // namespace scanloom::kernels::qlinear_conv
