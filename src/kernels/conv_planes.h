// A convolution that reads its windows from padded planes instead of unfolding them: an element of
// x is copied once, rather than once per kernel position. Used by kernel conv.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"
#include "opmath/conv_geometry.h"

namespace scanloom::kernels {

/// Which of the ways to read planes may be taken.
enum class PlanesUse : std::uint8_t {
  blocks,    ///< blocks of filters (conv_blocks.h)
  forecast,  ///< the same, without constants or an epilogue, to ask what it takes
  panels,    ///< panels of windows (conv_panel.h)
  any,       ///< panels, or tiles that read the planes (conv_band.h)
};

/// Declines if the planes would be larger than the unfolded windows, and where the way to read them
/// does not pay. Preconditions: operands of one type, f32 or f64; contiguous weights; a result
/// whose spatial axes are contiguous.
Prepared prepare_conv_planes(const PrepareCtx& ctx, const tensor::ConvGeometry& geometry,
                             PlanesUse use);

/// Where a convolution has its channels last.
enum class ChannelsLast : std::uint8_t {
  no,
  input,   ///< in x, or nowhere
  both,    ///< in x and in the result, or in neither
  either,  ///< in x, in the result, or in both
};

constexpr bool may_read_last(ChannelsLast takes) {
  return takes == ChannelsLast::input || takes == ChannelsLast::either;
}
constexpr bool may_store_last(ChannelsLast takes) {
  return takes == ChannelsLast::both || takes == ChannelsLast::either;
}

/// Where a convolution with these weights, constant and contiguous, takes and stores its channels
/// last, in blocks of filters.
ChannelsLast conv_takes_channels_last(const tensor::Operand& x, const tensor::Operand& w,
                                      std::span<const tensor::Attr> attrs, Isa isa = active_isa());

}  // namespace scanloom::kernels
