// Which loops take steps that do not depend on each other, so that a run may take them side by
// side.
#pragma once

#include <optional>
#include <vector>

#include "ir/infer.h"
#include "ir/module.h"
#include "plan/binding.h"

namespace scanloom::plan {

/// What each carried value is to such steps, if the loop takes no others: no condition ends it, no
/// step draws random numbers, and every carried value is a counter or a sequence that grows by an
/// item per step and is not read otherwise. `uses`: of ir::count_uses.
std::optional<std::vector<CarriedRole>> independent_steps(const ir::Module& module, ir::NodeId loop,
                                                          const ir::Inference& inference,
                                                          const std::vector<std::uint32_t>& uses);

}  // namespace scanloom::plan
