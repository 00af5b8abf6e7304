// Recognises constant index tuples that name a window, which exporters emit for x[2:5, ::2] = y.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace scanloom::passes {

/// A window along the first axes of a tensor, in the terms of scatter_slice.
struct ConstantWindow {
  std::vector<std::int64_t> axes, starts, ends, steps;
  std::vector<std::int64_t> picked, indices;
};

/// Returns the window of a tensor of these sizes that the tuples along the last axis of `tuples`
/// name, element for element in the order of the tuples. nullopt: they name no window, a size is
/// not known, or there are fewer than two tuples. Precondition: integers.
std::optional<ConstantWindow> window_of_tuples(const tensor::Tensor& tuples,
                                               const std::vector<ir::Dim>& sizes);

}  // namespace scanloom::passes
