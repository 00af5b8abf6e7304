// The walk over a convolution's windows, shared by the reference kernels of conv and qlinear_conv.
#pragma once

#include <cstdint>

#include "opmath/conv_geometry.h"
#include "tensor/call.h"
#include "tensor/for_each.h"
#include "tensor/paced_poll.h"

namespace scanloom::ops {

/// Returns the sizes of the spatial axes as a shape.
inline tensor::Shape spatial_shape(const tensor::ConvGeometry& geometry,
                                   const std::array<std::int64_t, tensor::kMaxSpatial>& sizes) {
  return tensor::Shape(std::span(sizes).first(static_cast<std::size_t>(geometry.spatial)));
}

/// Calls f(image, filter, offset in y, position) for every element of result 0 of the call, y,
/// unless the call is to stop; `filter` counts over all groups.
template <class F>
void for_each_output(const tensor::ConvGeometry& geometry, const tensor::Call& call, F&& f) {
  const tensor::Operand& y = call.out(0);
  if (y.empty()) return;
  const std::int64_t work = 1 + geometry.channels * geometry.kernel_positions();
  tensor::PacedPoll poll(call);
  const tensor::Shape out = spatial_shape(geometry, geometry.out);
  for (std::int64_t image = 0; image < geometry.batch; ++image)
    for (std::int64_t filter = 0; filter < geometry.group * geometry.filters; ++filter)
      tensor::for_each_index(out.dims(), [&](const tensor::Shape& position) {
        if (poll.stops(work)) return;
        f(image, filter,
          image * y.strides[0] + filter * y.strides[1] + tensor::offset_of(position, y.strides + 2),
          position);
      });
}

/// Calls f(offset in w, whether x has the element, offset in x) for every term of one element of
/// the result, in the order of the sum: channels, then kernel positions, both row-major. The offset
/// in x is meaningless if x does not have the element.
template <class F>
void for_each_tap(const tensor::ConvGeometry& geometry, const tensor::Operand& x,
                  const tensor::Operand& w, std::int64_t image, std::int64_t filter,
                  const tensor::Shape& position, F&& f) {
  const tensor::Shape kernel = spatial_shape(geometry, geometry.kernel);
  const std::int64_t first_channel = filter / geometry.filters * geometry.channels;
  for (std::int64_t channel = 0; channel < geometry.channels; ++channel) {
    const std::int64_t x_base = image * x.strides[0] + (first_channel + channel) * x.strides[1];
    const std::int64_t w_base = filter * w.strides[0] + channel * w.strides[1];
    tensor::for_each_index(kernel.dims(), [&](const tensor::Shape& tap) {
      std::int64_t at = x_base;
      bool inside = true;
      for (int axis = 0; axis < geometry.spatial; ++axis) {
        const auto i = static_cast<std::size_t>(axis);
        const std::int64_t coordinate = position[axis] * geometry.stride[i] - geometry.pad[i] +
                                        tap[axis] * geometry.dilation[i];
        inside &= coordinate >= 0 && coordinate < geometry.in[i];
        // Positions outside x may be so far away that their offsets overflow.
        if (inside) at += coordinate * x.strides[axis + 2];
      }
      f(w_base + tensor::offset_of(tap, w.strides + 2), inside, at);
    });
  }
}

}  // namespace scanloom::ops
