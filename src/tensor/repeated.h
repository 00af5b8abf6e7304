// Large tensors whose elements are all the same.
#pragma once

#include <cstddef>
#include <optional>

#include "tensor/tensor.h"

namespace scanloom::tensor {

/// Returns a tensor that repeats the element at `element` and takes no memory of its own
/// (base/repeated_pages.h); it must not be written to. Returns nullopt if it would be small, or if
/// the system has no such memory. Preconditions: no strings, at most 2^40 elements.
[[nodiscard]] std::optional<Tensor> repeated(DType dtype, const Shape& shape,
                                             const std::byte* element);

}  // namespace scanloom::tensor
