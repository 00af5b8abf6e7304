// Options of reports: one page that shows a model, its loops, and where a run's time and memory go.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <scanloom/expected.h>
#include <scanloom/options.h>

namespace scanloom {

enum class ReportForm : std::uint8_t {
  page,  ///< HTML that needs no other file and no network
  data,  ///< what the page shows, as JSON (docs/report.md)
};

struct ReportOptions {
  ReportForm form = ReportForm::page;
  std::string title = {};  ///< empty: the name of the model's file or of its graph
  /// Runs before the one that is timed node by node: they compile loops, and the fastest of them
  /// gives the times of steps. At most 1000.
  int runs = 2;
  RunOptions run = {};  ///< limits of each run; `profile` is ignored
};

/// Returns the page for the data of a report. Errors: invalid_argument (no JSON), unsupported (a
/// library that was built without the page). Thread safe.
SCANLOOM_API Expected<std::string> report_page(std::string_view data);

}  // namespace scanloom
