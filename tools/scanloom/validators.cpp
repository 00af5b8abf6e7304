#include "validators.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "parse_number.h"

namespace scanloom::cli {
namespace {

std::string refused(const std::string& text, const std::string& allowed) {
  return "'" + text + "' is not " + allowed;
}

/// Returns log2 of a unit of bytes, such as "KB" or "kib".
std::optional<int> shift_of_unit(std::string unit) {
  for (char& letter : unit)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  unit.erase(0, unit.find_first_not_of(' '));
  if (unit.empty() || unit == "b") return 0;
  constexpr std::string_view kPrefixes = "kmgtpe";
  const std::size_t prefix = kPrefixes.find(unit[0]);
  const std::string_view rest = std::string_view(unit).substr(1);
  if (prefix == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib"))
    return std::nullopt;
  return 10 * static_cast<int>(prefix + 1);
}

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const std::string range = std::to_string(least) + " to " + std::to_string(most);
  const auto check = [=](const std::string& text) -> std::string {
    const auto number = parse_number<std::uint64_t>(text);
    if (number && *number >= least && *number <= most) return "";
    return refused(text, "a whole number from " + range);
  };
  const bool bounded = most <= std::numeric_limits<std::int32_t>::max();
  return {check, bounded ? range : "at least " + std::to_string(least)};
}

CLI::Validator positive() {
  const auto check = [](const std::string& text) -> std::string {
    const auto number = parse_number<double>(text);
    return number && std::isfinite(*number) && *number > 0
               ? ""
               : refused(text, "a finite number above 0");
  };
  return {check, "above 0"};
}

CLI::Validator not_negative() {
  const auto check = [](const std::string& text) -> std::string {
    const auto number = parse_number<double>(text);
    return number && std::isfinite(*number) && *number >= 0
               ? ""
               : refused(text, "a finite number of at least 0");
  };
  return {check, "at least 0"};
}

CLI::Validator byte_count() {
  const auto to_bytes = [](std::string& text) -> std::string {
    constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = parse_number<std::uint64_t>(std::string_view(text).substr(0, digits));
    const auto shift = shift_of_unit(text.substr(digits));
    if (!number || !shift || *number == 0 || *number > kMax >> *shift)
      return refused(text,
                     "a number of bytes from 1 to " + std::to_string(kMax) + ", such as 512MB");
    text = std::to_string(*number << *shift);
    return "";
  };
  return {to_bytes, "bytes"};
}

}  // namespace scanloom::cli
