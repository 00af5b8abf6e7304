// How the sums of a quantized convolution become its results. Shared by the sources of the kernel
// qlinear_conv.
#pragma once

#include <concepts>
#include <limits>

#include "kernels/qlinear_conv_few.h"
#include "kernels/qlinear_conv_schedule.h"

namespace scanloom::kernels::qlinear_conv {

/// The greatest product of two differences of bytes.
inline constexpr std::int64_t kMaxProduct = 255 * 255;

// For biases with which sums exceed 32 bits.
template <class Y>
void finish_wide(const Requantize& row, std::int64_t bias, Y* y) {
  for (std::int64_t i = 0; i < row.count; ++i)
    y[i] = limited<Y>(static_cast<float>(row.sums[i] + bias) * row.scale, row.zero);
}

inline std::int64_t bias_of(const tensor::Call& call, std::int64_t filter) {
  if (!call.has(kBias)) return 0;
  return call.in(kBias).data<const std::int32_t>()[filter * call.in(kBias).strides[0]];
}

// Returns the factor of the sums of a filter.
inline float scale_of(const tensor::Call& call, std::int64_t filter) {
  const Operand& w_scale = call.in(kWScale);
  const float x_scale = *call.in(kXScale).data<const float>();
  const float y_scale = *call.in(kYScale).data<const float>();
  return x_scale * w_scale.data<const float>()[of_filter(w_scale, filter)] / y_scale;
}

// Whether the sums of a filter with its bias fit in 32 bits.
inline bool sums_fit(const QLinearConvSchedule& plan, const tensor::Call& call,
                     std::int64_t filter) {
  const std::int64_t greatest = std::numeric_limits<std::int32_t>::max() - kMaxProduct * plan.k;
  const std::int64_t bias = bias_of(call, filter);
  return bias <= greatest && bias >= -greatest;
}

// Returns the addend of the sums of a filter: its bias, and for quads the zero point of the image.
inline std::int64_t added_to(const QLinearConvSchedule& plan, const tensor::Call& call,
                             std::int64_t filter) {
  const std::int64_t added = bias_of(call, filter);
  if (plan.quad_fns == nullptr) return added;
  const int zero = byte_at(call.in(kXZero), 0) + (call.in(kX).dtype == DType::i8 ? 128 : 0);
  return added - std::int64_t{zero} * static_cast<std::int32_t>(quad_weights(plan).sums[filter]);
}

template <class Y>
void finish_row(const QLinearConvSchedule& plan, const tensor::Call& call, std::int64_t filter,
                Requantize row, Y* to) {
  const std::int64_t added = added_to(plan, call, filter);
  row.bias = static_cast<std::int32_t>(added);
  if constexpr (std::same_as<Y, std::int32_t>) {
    for (std::int64_t i = 0; i < row.count; ++i)
      to[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(row.sums[i]) +
                                        static_cast<std::uint32_t>(row.bias));
  } else {
    row.scale = scale_of(call, filter);
    row.zero = byte_at(call.in(kYZero), 0);
    if (!sums_fit(plan, call, filter))
      finish_wide(row, added, to);
    else if constexpr (std::same_as<Y, std::uint8_t>)
      plan.tables->requantize_u8(row, to);
    else
      plan.tables->requantize_i8(row, to);
  }
}

}  // namespace scanloom::kernels::qlinear_conv
