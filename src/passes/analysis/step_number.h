// Values of a loop's body that are the number of the step, and axes that have an element for each.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace scanloom::passes {

/// Returns the position of a value among the loop's body arguments [first, first + count); nullopt
/// where it is none of these.
std::optional<std::size_t> body_argument(const ir::Module& module, const ir::Node& loop,
                                         ir::ValueId value, std::size_t first, std::size_t count);

/// Whether the value has one element, which is the number of the step, from 0 on, whatever axes it
/// has.
bool is_step_number(const ir::Module& module, ir::NodeId loop, ir::ValueId value);

/// Whether an axis of that size has an element for each step. `counts`: StepCounts::of the loop.
bool has_element_per_step(const ir::Module& module, const ir::Node& loop,
                          const std::vector<ir::Dim>& counts, ir::Dim size);

}  // namespace scanloom::passes
