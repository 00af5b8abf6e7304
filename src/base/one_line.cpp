#include "base/one_line.h"

#include <algorithm>

namespace scanloom {

std::string one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  return line;
}

}  // namespace scanloom
