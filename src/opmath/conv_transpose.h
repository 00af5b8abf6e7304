// Transposed convolutions element by element: the reference of conv_transpose, and what its kernel
// does for weights that are not finite.
//
// The order of the sum: kernel positions in row-major order, then channels of the group, with one
// multiply-add of base/dot.h each, from 0; the bias is added last. Only kernel positions that are a
// multiple of the strides away take part. Elements outside x take part as 0 where the weight is
// finite, so that a kernel may read them from padding.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/dot.h"
#include "opmath/conv_transpose_geometry.h"
#include "tensor/call.h"
#include "tensor/for_each.h"

namespace scanloom::tensor {

/// The sum of one element of the result: the taps whose distance is a multiple of the strides.
template <class T>
class TransposedSum {
 public:
  TransposedSum(const Call& call, const ConvTransposeGeometry& geometry)
      : x_(call.in(0)), w_(call.in(1)), geometry_(geometry) {
    for (int axis = 0; axis < geometry.spatial; ++axis)
      kernel_.push_back(geometry.kernel[static_cast<std::size_t>(axis)]);
  }

  /// `position`: along the spatial axes.
  [[nodiscard]] T at(std::int64_t image, std::int64_t filter, const Shape& position) const {
    T sum = 0;
    // Without channels the kernel takes no memory, whatever its size.
    if (geometry_.channels == 0) return sum;
    for_each_index(kernel_.dims(), [&](const Shape& tap) {
      std::int64_t x_at = 0, w_at = 0;
      bool inside = true;
      for (int axis = 0; axis < geometry_.spatial; ++axis) {
        const auto i = static_cast<std::size_t>(axis);
        const std::int64_t from =
            position[axis] + geometry_.pad[i] - tap[axis] * geometry_.dilation[i];
        if (from % geometry_.stride[i] != 0) return;
        const std::int64_t element = from / geometry_.stride[i];
        inside &= element >= 0 && element < geometry_.in[i];
        // Elements outside x may be so far away that their offsets would overflow.
        if (inside) x_at += element * x_.strides[axis + 2];
        w_at += tap[axis] * w_.strides[axis + 2];
      }
      sum = add_channels(sum, image, filter, inside, x_at, w_at);
    });
    return sum;
  }

 private:
  [[nodiscard]] T add_channels(T sum, std::int64_t image, std::int64_t filter, bool inside,
                               std::int64_t x_at, std::int64_t w_at) const {
    const std::int64_t first = filter / geometry_.filters * geometry_.channels;
    const T* w = w_.data<const T>() + w_at + filter % geometry_.filters * w_.strides[1];
    for (std::int64_t channel = first; channel < first + geometry_.channels; ++channel) {
      const T weight = w[channel * w_.strides[0]];
      if (inside)
        sum =
            multiply_add(x_.data<const T>()[x_at + image * x_.strides[0] + channel * x_.strides[1]],
                         weight, sum);
      else if (std::isfinite(weight))
        sum = multiply_add(T{0}, weight, sum);
    }
    return sum;
  }

  const Operand &x_, &w_;
  const ConvTransposeGeometry& geometry_;
  Shape kernel_;
};

/// All elements of the result. T is the type of all operands. Polls `stop` before each filter of an
/// image.
template <class T>
Status transpose_convolution(const Call& call, const ConvTransposeGeometry& geometry) {
  const Operand& y = call.out(0);
  const TransposedSum<T> sum(call, geometry);
  const auto spatial = static_cast<std::size_t>(y.rank - 2);
  for (std::int64_t plane = 0; plane < y.dims[0] * y.dims[1]; ++plane) {
    if (call.stop_requested()) break;
    const std::int64_t image = plane / y.dims[1], filter = plane % y.dims[1];
    for_each_index({y.dims + 2, spatial}, [&](const Shape& position) {
      std::int64_t to = image * y.strides[0] + filter * y.strides[1];
      for (int axis = 2; axis < y.rank; ++axis) to += position[axis - 2] * y.strides[axis];
      T value = sum.at(image, filter, position);
      if (call.has(2)) value += call.in(2).data<const T>()[filter * call.in(2).strides[0]];
      y.data<T>()[to] = value;
    });
  }
  return call.ok_or_stopped();
}

}  // namespace scanloom::tensor
