// The rules about steps of convolutions and pools: they keep the elements of a batch apart.
#pragma once

#include "ops/lift_rules.h"
#include "ops/step_rules.h"

namespace scanloom::ops {

Expected<int> steps_of_windows(const ir::StepSite& s);
/// Pools keep the channels apart, too.
Expected<int> steps_of_pool(const ir::StepSite& s);

/// The steps join the batch. If each step has a batch of its own, its elements follow those of the
/// step before.
bool can_lift_windows(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies);
Expected<ir::Lifted> lift_windows(ir::Builder& builder, const ir::Node& node,
                                  const LiftedOperands& operands);
inline constexpr ir::LiftRule kLiftWindows{can_lift_windows, lift_windows};

}  // namespace scanloom::ops
