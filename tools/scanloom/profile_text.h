// The profile of a run: as a table for people, and as a trace for Chrome's viewer and Perfetto.
#pragma once

#include <span>
#include <string>

#include <scanloom/options.h>

namespace scanloom::cli {

/// "1.23 ms", "0.45 us", "2.1 s".
std::string time_text(double seconds);

/// Nodes that took less than a thousandth of the run are summed up in one line.
std::string profile_table(const RunReport& report);

/// Writes the rows one after the other, bodies inside their loops: a node that ran many times is
/// one bar of its whole time. Throws Failure.
void write_trace(const std::string& path, const RunReport& report);

}  // namespace scanloom::cli
