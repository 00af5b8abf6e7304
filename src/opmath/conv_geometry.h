// Resolves the attributes of a convolution for given sizes: windows, padding, result. Used by the
// operators conv and qlinear_conv and by their kernels.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/expected.h"
#include "tensor/attr.h"
#include "tensor/call.h"
#include "tensor/shape.h"

namespace scanloom::tensor {

inline constexpr int kMaxSpatial = kMaxRank - 2;

/// Below this limit, sums and products of sizes and window attributes are far from overflow.
inline constexpr std::int64_t kMaxParameter = std::int64_t{1} << 31;

/// Copies the numbers of a window attribute to `result`, or fills it with `least` if the attribute
/// is absent. Errors: invalid_model, for a list of the wrong length and for numbers outside [least,
/// kMaxParameter).
Expected<void> read_window_numbers(const Attr& attr, std::string_view name, std::int64_t least,
                                   std::span<std::int64_t> result);

/// The order of the attributes of both operators.
enum class ConvAttr : std::uint8_t { auto_pad, dilations, group, pads, strides };

enum class AutoPad : std::uint8_t { explicit_pads, same_upper, same_lower, valid };

/// The attributes, checked and complete, for a number of spatial axes.
struct ConvAttrs {
  AutoPad auto_pad = AutoPad::explicit_pads;
  std::int64_t group = 1;
  std::array<std::int64_t, kMaxSpatial> dilation{}, stride{}, pad_begin{}, pad_end{};
};

/// Reads the attributes. Errors: invalid_model (a list of the wrong length, a number below 1, a
/// negative pad, an unknown auto_pad).
Expected<ConvAttrs> read_conv_attrs(std::span<const Attr> attrs, int spatial);

/// x is [batch, group * channels, in...], w [group * filters, channels, kernel...], the result
/// [batch, group * filters, out...]. Element o of the result reads x at o * stride - pad + k *
/// dilation for 0 <= k < kernel.
struct ConvGeometry {
  int spatial = 0;
  std::int64_t batch = 0, group = 1, channels = 0, filters = 0;
  std::array<std::int64_t, kMaxSpatial> in{}, kernel{}, out{}, stride{}, dilation{}, pad{};

  [[nodiscard]] std::int64_t out_positions() const;
  [[nodiscard]] std::int64_t kernel_positions() const;
};

/// Errors: those of read_conv_attrs, and ranks or channels that do not match.
Expected<ConvGeometry> conv_geometry(const Shape& x, const Shape& w, std::span<const Attr> attrs);

/// The taps of each axis that are summed: `count` of them from `first`. Taps before and after them
/// meet nothing but padding, wherever the window is; they are left out of every convolution of
/// floating-point numbers. At least one tap is left.
struct LiveTaps {
  std::array<std::int64_t, kMaxSpatial> first{}, count{};
};

LiveTaps live_taps(const ConvGeometry& geometry);

/// Returns the convolution with a kernel of those taps only; pads may become negative.
ConvGeometry trimmed(ConvGeometry geometry, const LiveTaps& taps);

/// Whether the spatial axes of [batch, channels, spatial...] are row-major without gaps.
bool spatial_is_contiguous(const Operand& operand);

/// Whether [batch, channels, spatial...] is stored without gaps and with the channels last, unlike
/// in row-major order.
bool is_channels_last(const Operand& operand);

}  // namespace scanloom::tensor
