// Values of a loop's body that equal the number of the step, and axes with one element per step.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace scanloom::passes {

/// Returns the position of a value among the loop's body arguments [first, first + count); nullopt
/// if it is none of them.
std::optional<std::size_t> body_argument(const ir::Module& module, const ir::Node& loop,
                                         ir::ValueId value, std::size_t first, std::size_t count);

/// Whether the value has one element, of any rank, which is the number of the step, counted from 0.
bool is_step_number(const ir::Module& module, ir::NodeId loop, ir::ValueId value);

/// Whether an axis of that size has one element per step. `counts`: StepCounts::of the loop.
bool has_element_per_step(const ir::Module& module, const ir::Node& loop,
                          const std::vector<ir::Dim>& counts, ir::Dim size);

}  // namespace scanloom::passes
