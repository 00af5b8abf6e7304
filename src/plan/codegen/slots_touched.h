// Finds the slots that instructions touch, for the code of a part of a body.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/binding.h"

namespace scanloom::plan {

/// Returns, by SlotId, whether an instruction outside [first, last), a port of a loop that begins
/// there, or a result names the slot. Accesses through an alias are not reported; setting the alias
/// already touches the slot.
std::vector<bool> slots_touched_outside(const Binding& binding, std::uint32_t first,
                                        std::uint32_t last);

}  // namespace scanloom::plan
