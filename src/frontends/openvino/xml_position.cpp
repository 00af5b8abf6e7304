#include "frontends/openvino/xml_position.h"

#include <algorithm>

namespace scanloom::openvino {
namespace {

/// Returns the end of the construct that starts at `at` with `opening`; `at` if there is none.
std::size_t skipped(std::string_view text, std::size_t at, std::string_view opening,
                    std::string_view closing) {
  if (!text.substr(at).starts_with(opening)) return at;
  const std::size_t end = text.find(closing, at + opening.size());
  return end == std::string_view::npos ? text.size() : end + closing.size();
}

/// Returns the end of the tag that starts at `at`. Quoted values may contain '>'.
std::size_t end_of_tag(std::string_view text, std::size_t at) {
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      return at + 1;
    }
  }
  return text.size();
}

}  // namespace

std::string XmlText::position(std::size_t offset) {
  offset = std::min(offset, bytes_.size());
  if (line_starts_.empty()) {
    line_starts_.push_back(0);
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if (bytes_[i] == '\n') line_starts_.push_back(i + 1);
  }
  const auto next = std::ranges::upper_bound(line_starts_, offset);
  const std::size_t start = *(next - 1);
  const std::string_view before = bytes_.substr(start, offset - start);
  const auto column = std::ranges::count_if(
      before, [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; });
  return "line " + std::to_string(next - line_starts_.begin()) + ", column " +
         std::to_string(column + 1);
}

std::string XmlText::open_element(std::size_t offset) const {
  constexpr std::string_view kEndOfName = " \t\r\n/>";
  const std::string_view text = bytes_.substr(0, std::min(offset, bytes_.size()));
  std::vector<std::string_view> open;
  std::size_t at = text.find('<');
  while (at != std::string_view::npos) {
    std::size_t end = skipped(text, at, "<!--", "-->");
    if (end == at) end = skipped(text, at, "<![CDATA[", "]]>");
    if (end == at) end = skipped(text, at, "<?", "?>");
    if (end == at) {
      end = end_of_tag(text, at);
      const std::string_view tag = text.substr(at, end - at);
      const bool is_whole = tag.ends_with('>');
      // A name may extend beyond the requested offset.
      const std::size_t name_end =
          std::min(bytes_.find_first_of(kEndOfName, at + 1), bytes_.size());
      const std::string_view name = bytes_.substr(at + 1, name_end - at - 1);
      if (tag.starts_with("</")) {
        if (is_whole && !open.empty()) open.pop_back();
      } else if (!name.empty() && !(is_whole && tag.ends_with("/>"))) {
        open.push_back(name);
      }
    }
    at = text.find('<', end);
  }
  return open.empty() ? std::string() : std::string(open.back());
}

}  // namespace scanloom::openvino
