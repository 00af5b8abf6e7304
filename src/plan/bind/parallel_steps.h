// Finds loops whose steps do not depend on each other, so that a run may take them in parallel.
#pragma once

#include <optional>
#include <vector>

#include "ir/infer.h"
#include "ir/module.h"
#include "plan/binding.h"

namespace scanloom::plan {

/// Whether a node of the loop's body, or of regions inside, draws random numbers or keeps a state.
bool draws_or_keeps_state(const ir::Module& module, ir::RegionId body);

/// Returns the role of each carried value if the steps are independent; otherwise nullopt. They are
/// if no condition ends the loop, no step draws random numbers, and every carried value is a
/// counter or a sequence that grows by one item per step and is not read otherwise. `uses` comes
/// from ir::count_uses.
std::optional<std::vector<CarriedRole>> parallel_steps(const ir::Module& module, ir::NodeId loop,
                                                       const ir::Inference& inference,
                                                       const std::vector<std::uint32_t>& uses);

}  // namespace scanloom::plan
