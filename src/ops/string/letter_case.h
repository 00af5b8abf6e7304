// Lower and upper case of UTF-8, by Unicode's one-to-one character mappings: the number of
// characters never changes, and there are no language-specific rules. Bytes that are not UTF-8 stay
// unchanged.
#pragma once

#include <string>
#include <string_view>

namespace scanloom::ops {

std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);

}  // namespace scanloom::ops
