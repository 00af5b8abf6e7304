#include "api/line_changes.h"

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace scanloom {
namespace {

struct Line {
  std::string_view text;   ///< without its indentation
  std::string_view owner;  ///< the node whose region contains it; empty: the module
};

/// "node 'gru' (Scan-11)" for a line that ends with loc("node 'gru' (Scan-11)") {; else its text.
std::string_view name_of(std::string_view line) {
  constexpr std::string_view kBegin = "loc(\"", kEnd = "\") {";
  const std::size_t begin = line.rfind(kBegin);
  if (begin != line.npos && line.ends_with(kEnd))
    return line.substr(begin + kBegin.size(), line.size() - begin - kBegin.size() - kEnd.size());
  return line.substr(0, line.find(" : "));
}

/// All lines except those that only close a region.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::vector<std::pair<std::size_t, std::string_view>> open;  // indentation, name of the node
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    const std::size_t indent = whole.find_first_not_of(' ');
    if (indent == whole.npos) continue;
    const std::string_view line = whole.substr(indent);
    while (!open.empty() && open.back().first >= indent) open.pop_back();
    if (line == "}") continue;
    lines.push_back({line, open.empty() ? std::string_view{} : open.back().second});
    if (line.starts_with('%') && line.ends_with('{')) open.emplace_back(indent, name_of(line));
  }
  return lines;
}

/// Changes by node, in order of first occurrence.
class Changes {
 public:
  void add(const Line& line, std::string_view sign) {
    const auto [at, is_new] = numbers_.try_emplace(line.owner, blocks_.size());
    if (is_new) blocks_.push_back({line.owner, {}});
    blocks_[at->second].second.append(sign).append(line.text).append("\n");
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    for (const auto& [owner, lines] : blocks_) {
      if (!owner.empty()) text.append("  in ").append(owner).append("\n");
      text += lines;
    }
    return text;
  }

 private:
  std::map<std::string_view, std::size_t> numbers_;
  std::vector<std::pair<std::string_view, std::string>> blocks_;
};

/// Adds the lines that occur less often in `others`.
void add_missing(const std::vector<Line>& lines, const std::vector<Line>& others,
                 std::string_view sign, Changes& changes) {
  std::unordered_map<std::string_view, int> left;
  for (const Line& line : others) ++left[line.text];
  for (const Line& line : lines)
    if (--left[line.text] < 0) changes.add(line, sign);
}

}  // namespace

std::string line_changes(std::string_view before, std::string_view after) {
  const std::vector<Line> old = lines_of(before), now = lines_of(after);
  Changes changes;
  add_missing(old, now, "- ", changes);
  add_missing(now, old, "+ ", changes);
  return changes.text();
}

}  // namespace scanloom
