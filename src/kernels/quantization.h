// How scales and zero points apply to a tensor: one for all elements, or one per index of an axis.
// Used by quantize and dequantize.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace scanloom::kernels {

/// A tensor as three nested axes; parameters belong to the middle one (of size 1 if there is a
/// single scale and zero point). Steps count elements; 0 means that one parameter serves all.
struct QuantizedLayout {
  std::int64_t outer = 1, axis = 1, inner = 1;
  std::int64_t scale_step = 0, zero_step = 0;
};

/// Lays out inputs x, scale, zero (optional) and the attribute axis, as the operators have them.
/// Returns why a layout does not describe them; nullopt: it is set.
std::optional<Refusal> lay_out_quantized(const PrepareCtx& ctx, QuantizedLayout& layout);

}  // namespace scanloom::kernels
