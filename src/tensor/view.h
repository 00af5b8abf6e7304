// Memory of the caller as tensors: every number that a View gives is checked, and elements are as
// kernels rely on them.
#pragma once

#include <string_view>

#include <scanloom/value.h>

#include "tensor/tensor.h"

namespace scanloom::tensor {

/// Row-major, aligned elements: the view's own memory where it is like that, or a copy. Errors name
/// it with `what`. Precondition: view.kind is tensor.
Expected<Tensor> tensor_of(const View& view, std::string_view what);
/// The same as memory of its own. Errors also where the view is no tensor of numbers.
Expected<Tensor> copy_of(const View& view, std::string_view what);

}  // namespace scanloom::tensor
