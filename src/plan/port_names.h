// The names of a loop's ports in messages; see ir/port_names.h.
#pragma once

#include <cstddef>
#include <string>

#include "plan/plan.h"

namespace scanloom::plan {

/// Returns the name of the i-th carried value: "state 'h'".
[[nodiscard]] std::string describe_carried(const Plan& plan, ir::NodeId loop, std::size_t i);
/// Returns the name of the i-th stacked value: "output 'rows'".
[[nodiscard]] std::string describe_stacked(const Plan& plan, ir::NodeId loop, std::size_t i);

}  // namespace scanloom::plan
