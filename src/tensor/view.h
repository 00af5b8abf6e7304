// The caller's memory as tensors: checks every number of a View, and ensures what kernels rely on
// about elements.
#pragma once

#include <string_view>

#include <scanloom/value.h>

#include "tensor/tensor.h"

namespace scanloom::tensor {

/// Row-major, aligned elements: the view's own memory if it is already so, or else a copy. Errors
/// name the value with `what`. Precondition: view.kind is tensor.
Expected<Tensor> tensor_of(const View& view, std::string_view what);
/// Always a copy. Also an error if the view is not a tensor of numbers.
Expected<Tensor> copy_of(const View& view, std::string_view what);

}  // namespace scanloom::tensor
