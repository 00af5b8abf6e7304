// The JSON of reports: objects keep the order in which their members are written.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace scanloom::report {

using Json = nlohmann::ordered_json;

/// Returns a name as valid UTF-8, of a long one the beginning and the end: names in models are
/// arbitrary bytes of any length.
inline std::string shown(std::string_view name) {
  constexpr std::size_t kMaxBytes = 300;
  return shortened(to_valid_utf8(name), kMaxBytes);
}

/// Returns the JSON as ASCII; bytes that are not UTF-8 become U+FFFD.
std::string text_of(const Json& json);

/// Returns the same JSON without the characters that have a meaning in HTML, so that it is safe
/// within a script element, whatever its strings hold.
std::string without_markup(std::string_view json);

}  // namespace scanloom::report
