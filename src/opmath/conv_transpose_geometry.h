// Resolves the attributes of a transposed convolution for given sizes. Used by the operator
// conv_transpose and by its kernel.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/expected.h"
#include "opmath/conv_geometry.h"
#include "tensor/attr.h"
#include "tensor/shape.h"

namespace scanloom::tensor {

/// The attributes, checked and complete, for a number of spatial axes.
struct ConvTransposeAttrs {
  bool same = false, upper = false;  ///< auto_pad is same_upper or same_lower; the former
  bool has_shape = false;            ///< `shape` holds the spatial sizes of the result
  std::int64_t group = 1;
  std::array<std::int64_t, kMaxSpatial> dilation{}, stride{}, extra{}, shape{}, begin{}, end{};
};

/// Errors: invalid_model (a list of the wrong length, a number out of range, an unknown auto_pad).
Expected<ConvTransposeAttrs> read_conv_transpose_attrs(std::span<const Attr> attrs, int spatial);

/// x is [batch, group * channels, in...], w [group * channels, filters, kernel...], the result
/// [batch, group * filters, out...]. Element q of x meets kernel position k in element q * stride -
/// pad + k * dilation of the result, if the result has that element.
struct ConvTransposeGeometry {
  int spatial = 0;
  std::int64_t batch = 0, group = 1, channels = 0, filters = 0;
  std::array<std::int64_t, kMaxSpatial> in{}, kernel{}, out{}, stride{}, dilation{}, pad{};
};

/// Preconditions: sizes that the operator has inferred from each other.
ConvTransposeGeometry conv_transpose_geometry(const Shape& x, const Shape& w, const Shape& y,
                                              const ConvTransposeAttrs& attrs);

}  // namespace scanloom::tensor
