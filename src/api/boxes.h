// Copies boxes between row-major tensors: the steps of one sequence into a lane, and back.
#pragma once

#include <cstddef>

#include <scanloom/dtype.h>

#include "tensor/shape.h"

namespace scanloom {

/// Where a box begins in a row-major tensor of these sizes.
template <class Byte>
struct BoxAt {
  Byte* data = nullptr;
  tensor::Shape shape, at;
};

/// Copies the elements of a box of these sizes. Precondition: it is inside both tensors, which do
/// not overlap.
void copy_box(DType dtype, const tensor::Shape& box, const BoxAt<const std::byte>& from,
              const BoxAt<std::byte>& to) noexcept;

/// A copy of the shape with another size on one axis.
[[nodiscard]] tensor::Shape with_size(tensor::Shape shape, int axis, std::int64_t size);
/// Position 0, but `position` on one axis.
[[nodiscard]] tensor::Shape position_on(int rank, int axis, std::int64_t position);

}  // namespace scanloom
