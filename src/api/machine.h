// The figures of this machine, as saved by calibrate().
#pragma once

#include <optional>
#include <string>

#include <scanloom/machine.h>

namespace scanloom {

/// nullopt: the machine was not calibrated, or has changed since. Reads the file each time,
/// unless this process measured and could not save.
std::optional<MachineFigures> known_figures();

/// The file that calibrate() writes; empty if there is no folder for it.
std::string figures_file();

/// The minimum time in seconds to read this many bytes repeatedly and to do this many operations.
double min_seconds(const MachineFigures& figures, double bytes, double operations);

}  // namespace scanloom
