// Lower and upper case of UTF-8, character by character as Unicode maps one to one: no word grows
// letters, and no language has rules of its own. Bytes that are no UTF-8 stay as they are.
#pragma once

#include <string>
#include <string_view>

namespace scanloom::ops {

std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);

}  // namespace scanloom::ops
