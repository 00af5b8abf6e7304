// Describes a bound call as parts of a body: nests, or the call itself.
#pragma once

#include <cstdint>
#include <vector>

#include "loopnest/part.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {

/// Appends the parts of call `index`. `takes_indices`: whether gathers and scatters by many indices
/// become nests: long code, for each lane is an access of its own.
void add_call(const Plan& plan, const Binding& binding, std::uint32_t index, bool takes_indices,
              std::vector<loopnest::Part>& parts);

/// Appends a use of all of a value.
void add_use(const Binding& binding, const Spot& spot, std::vector<loopnest::Use>& uses);

/// Returns the origin of what a node computes.
inline loopnest::OriginId origin_of(ir::NodeId node) { return loopnest::OriginId(node.index); }

}  // namespace scanloom::plan
