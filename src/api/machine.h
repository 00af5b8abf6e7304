// The figures of this machine, as calibrate() has left them for other processes.
#pragma once

#include <optional>

#include <scanloom/machine.h>

namespace scanloom {

/// nullopt: the machine was not calibrated, or is another one now. Reads the file anew.
std::optional<MachineFigures> known_figures();

/// Seconds that reading so many bytes again and again takes at least, and so many operations.
double min_seconds(const MachineFigures& figures, double bytes, double operations);

}  // namespace scanloom
