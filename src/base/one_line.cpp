#include "base/one_line.h"

#include <algorithm>

#include "base/control_character.h"

namespace scanloom {

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t control = control_bytes(text, at);
    line += control > 0 ? '?' : text[at];
    at += std::max<std::size_t>(control, 1);
  }
  return line;
}

}  // namespace scanloom
