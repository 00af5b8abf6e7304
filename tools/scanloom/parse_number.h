// Numbers from text, the whole of it and nothing else.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace scanloom::cli {

/// nullopt when the text is no number of that type or one that it cannot hold.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace scanloom::cli
