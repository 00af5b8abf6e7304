// Measuring the machine for rooflines, as --calibrate asks for.
#pragma once

#include <scanloom/machine.h>

namespace scanloom::cli {

/// Measures the machine, and warns if the figures cannot be saved for later commands. Throws
/// Failure.
MachineFigures calibrated();

}  // namespace scanloom::cli
