// All instruction sets of this machine, for people: kernels ask for the active one (base/cpu.h).
#pragma once

#include <vector>

#include "base/cpu.h"

namespace scanloom {

/// Ascending, from baseline on, whether SCANLOOM_ISA masks them or not.
std::vector<Isa> machine_isas();

}  // namespace scanloom
