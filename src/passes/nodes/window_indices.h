// Constant tuples of indices that name a window: what exporters make of x[2:5, ::2] = y.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace scanloom::passes {

/// A window along the first axes of a tensor, in the words of scatter_slice.
struct ConstantWindow {
  std::vector<std::int64_t> axes, starts, ends, steps;
  std::vector<std::int64_t> picked, indices;
};

/// Returns the window that tuples along the last axis of `tuples` name of a tensor of these sizes,
/// element for element in the order of the tuples; nullopt where they name none, a size is not
/// known, or there are fewer than two of them. Precondition: integers.
std::optional<ConstantWindow> window_of_tuples(const tensor::Tensor& tuples,
                                               const std::vector<ir::Dim>& sizes);

}  // namespace scanloom::passes
