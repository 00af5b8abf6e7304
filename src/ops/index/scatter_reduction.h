// Checking the reduction that scatter_elements and scatter_nd are given.
#pragma once

#include <string_view>

#include "ir/infer_ctx.h"
#include "opmath/scatter_reduction.h"

namespace scanloom::ops {

using Reduction = tensor::ScatterReduction;
using tensor::combine;
using tensor::scatter_reduction_of;

/// Returns the reduction of that name for elements of that dtype. Errors: invalid_model (an unknown
/// name, or elements that cannot be added or compared).
Expected<Reduction> check_reduction(std::string_view text, DType dtype);

}  // namespace scanloom::ops
