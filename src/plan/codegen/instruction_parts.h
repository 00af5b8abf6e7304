// Describes a range of bound instructions as parts of a body.
#pragma once

#include <cstdint>
#include <vector>

#include "base/expected.h"
#include "loopnest/part.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {

/// Returns instructions [first, last) in order; branches and inner loops have been through the
/// passes. `takes_indices`: see add_call. Precondition: body legality lets the instructions pass.
/// Errors: internal (a rule that a pass over loop nests has broken).
Expected<std::vector<loopnest::Part>> parts_of_instructions(const Plan& plan,
                                                            const Binding& binding,
                                                            std::uint32_t first, std::uint32_t last,
                                                            bool takes_indices);

}  // namespace scanloom::plan
