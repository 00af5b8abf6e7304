#include "base/control_character.h"

#include <cstdint>

namespace scanloom {

std::size_t control_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<std::uint8_t>(text[at + i]) : std::uint8_t{0};
  };
  const auto is_within = [&](std::size_t i, int low, int high) {
    return byte(i) >= low && byte(i) <= high;
  };
  if (byte(0) < ' ' || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && is_within(1, 0x80, 0x9f)) return 2;
  if (byte(0) != 0xe2) return 0;
  const bool turns = (byte(1) == 0x80 && is_within(2, 0xaa, 0xae)) ||
                     (byte(1) == 0x81 && is_within(2, 0xa6, 0xa9));
  return turns ? 3 : 0;
}

}  // namespace scanloom
