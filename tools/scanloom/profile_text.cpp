#include "profile_text.h"

#include <cstdio>
#include <vector>

#include "json_text.h"
#include "output_file.h"
#include "plain_text.h"

namespace scanloom::cli {
namespace {

constexpr double kMinShare = 0.1;  // in percent, of rows in the table

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[80];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

std::string time_text(double seconds) {
  if (seconds < 1e-6) return formatted("%.0f ns", seconds * 1e9);
  if (seconds < 1e-3) return formatted("%.2f us", seconds * 1e6);
  if (seconds < 1) return formatted("%.2f ms", seconds * 1e3);
  return formatted("%.2f s", seconds);
}

std::string profile_table(const RunReport& report) {
  std::string text = "       time   share     calls  node\n";
  int left_out = 0;
  double within = 0;  // nodes
  for (const NodeTime& row : report.profile) {
    if (row.depth == 0) within += row.seconds;
    const double share = report.seconds > 0 ? 100 * row.seconds / report.seconds : 0;
    if (share < kMinShare) {
      ++left_out;
      continue;
    }
    text += formatted("%11s  %5.1f%%  %8lld  ", time_text(row.seconds).c_str(), share,
                      static_cast<long long>(row.calls));
    text += std::string(2 * static_cast<std::size_t>(std::max(row.depth, 0)), ' ') +
            plain_line(row.node) + " (" + row.kernel + ")\n";
  }
  if (left_out > 0)
    text += std::string(31, ' ') + "and " + std::to_string(left_out) +
            (left_out == 1 ? " node of less than 0.1%\n" : " nodes of less than 0.1% each\n");
  const double rest = report.seconds - within;
  if (100 * rest >= kMinShare * report.seconds)
    text += formatted("%11s  %5.1f%%            ", time_text(rest).c_str(),
                      100 * rest / report.seconds) +
            "outside of nodes: binding to the sizes, compiling, inputs and results\n";
  return text;
}

void write_trace(const std::string& path, const RunReport& report) {
  auto events = nlohmann::ordered_json::array();
  std::vector<double> next = {0};  // by depth, in microseconds: where the next bar begins
  for (const NodeTime& row : report.profile) {
    const auto depth = std::min(static_cast<std::size_t>(std::max(row.depth, 0)), next.size() - 1);
    next.resize(depth + 1);
    const double begin = next[depth];
    events.push_back({{"name", row.node},
                      {"cat", row.kernel},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", begin},
                      {"dur", row.seconds * 1e6},
                      {"args", {{"calls", row.calls}, {"kernel", row.kernel}}}});
    next[depth] += row.seconds * 1e6;
    next.push_back(begin);
  }
  write_file(path, json_text({{"traceEvents", events}}));
}

}  // namespace scanloom::cli
