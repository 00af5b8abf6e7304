// What messages call the ports of a loop; see ir/port_names.h.
#pragma once

#include <cstddef>
#include <string>

#include "plan/plan.h"

namespace scanloom::plan {

/// "state 'h'".
[[nodiscard]] std::string describe_carried(const Plan& plan, ir::NodeId loop, std::size_t i);
/// "output 'rows'".
[[nodiscard]] std::string describe_stacked(const Plan& plan, ir::NodeId loop, std::size_t i);

}  // namespace scanloom::plan
