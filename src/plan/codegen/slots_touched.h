// Which slots instructions touch, those of a part of a body and all others apart.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/binding.h"

namespace scanloom::plan {

/// By SlotId: whether an instruction outside of [first, last), a port of a loop that begins there,
/// or a result touches it by name. (What is reached through a slot that was set to another one's
/// place is not told: setting it touches that one.)
std::vector<bool> slots_touched_outside(const Binding& binding, std::uint32_t first,
                                        std::uint32_t last);

}  // namespace scanloom::plan
