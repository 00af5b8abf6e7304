// Suggestions for misspelled names: "did you mean ...?" in errors of the library and of programs
// that take names themselves.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <scanloom/api.h>

namespace scanloom {

/// Returns the name with the smallest edit distance to `text`, the first of several; empty if none
/// is close. Thread safe.
[[nodiscard]] SCANLOOM_API std::string nearest_name(std::string_view text,
                                                    std::span<const std::string> names);

}  // namespace scanloom
