// Parsing of numbers; the whole text must match.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace scanloom::cli {

/// Parses a number; nullopt if the text is not a number of that type or is out of its range.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace scanloom::cli
