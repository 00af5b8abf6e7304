// The profile of a run: as a table, and as a trace for Chrome's viewer and Perfetto.
#pragma once

#include <span>
#include <string>

#include <scanloom/options.h>

namespace scanloom::cli {

/// Formats a time: "1.23 ms", "0.45 us", "2.1 s".
std::string time_text(double seconds);

/// Formats a table. One line sums up the nodes that took less than a thousandth of the run.
std::string profile_table(const RunReport& report);

/// Writes the nodes one after another, with bodies inside their loops. A node that ran many times
/// is a single bar with its total time. Throws Failure.
void write_trace(const std::string& path, const RunReport& report);

}  // namespace scanloom::cli
