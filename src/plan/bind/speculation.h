// Decides which loops may be speculated: whether threads may compute later steps from a guess of
// the state, and whether all of it can be undone.
#pragma once

#include "plan/bind/context.h"
#include "plan/binding.h"

namespace scanloom::plan {

/// Sets BoundLoop::speculation, or the reason why not where steps may be many. Precondition: the
/// loop is not inside another one, and its ports and strategies are bound.
void find_speculation(const BindContext& ctx, BoundLoop& loop,
                      std::shared_ptr<SpeculationRecord> record);

}  // namespace scanloom::plan
