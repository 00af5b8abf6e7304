#include "ops/string/letter_case.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace scanloom::ops {
namespace {

struct Range {
  std::uint32_t first, last;
  std::int32_t distance;
  std::uint32_t step;
};

constexpr Range kTolower[] = {
#define SCANLOOM_CASE(which, ...) SCANLOOM_CASE_##which(__VA_ARGS__)
#define SCANLOOM_CASE_lower(...) {__VA_ARGS__},
#define SCANLOOM_CASE_upper(...)
#include "ops/string/letter_case.inc"
#undef SCANLOOM_CASE_lower
#undef SCANLOOM_CASE_upper
};
constexpr Range kToupper[] = {
#define SCANLOOM_CASE_lower(...)
#define SCANLOOM_CASE_upper(...) {__VA_ARGS__},
#include "ops/string/letter_case.inc"
#undef SCANLOOM_CASE_lower
#undef SCANLOOM_CASE_upper
#undef SCANLOOM_CASE
};

std::uint32_t mapped(std::uint32_t letter, std::span<const Range> ranges) {
  // Ranges of every second character may overlap, so a few before the nearest one are tried.
  auto range = std::ranges::upper_bound(ranges, letter, {}, &Range::first);
  for (int tried = 0; tried < 4 && range != ranges.begin(); ++tried) {
    --range;
    if (letter <= range->last && (letter - range->first) % range->step == 0)
      return letter + static_cast<std::uint32_t>(range->distance);
  }
  return letter;
}

/// The first character and the number of its bytes; 0 bytes: not UTF-8.
struct Letter {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

Letter first_letter(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = lead < 0x80           ? 1
                            : (lead >> 5) == 0x06 ? 2
                            : (lead >> 4) == 0x0e ? 3
                            : (lead >> 3) == 0x1e ? 4
                                                  : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  std::uint32_t code = bytes == 1 ? lead : lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0u) != 0x80) return {};
    code = code << 6 | (next & 0x3fu);
  }
  return {code, bytes};
}

void append_letter(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  const unsigned lead = more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0;
  text += static_cast<char>(lead | code >> (6 * more));
  for (int i = more; i-- > 0;) text += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
}

std::string changed(std::string_view text, std::span<const Range> ranges) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Letter letter = first_letter(text);
    const std::uint32_t other = mapped(letter.code, ranges);
    const std::size_t bytes = std::max<std::size_t>(letter.bytes, 1);
    if (letter.bytes == 0 || other == letter.code)
      result += text.substr(0, bytes);
    else
      append_letter(result, other);
    text.remove_prefix(bytes);
  }
  return result;
}

}  // namespace

std::string to_lower(std::string_view text) { return changed(text, kTolower); }
std::string to_upper(std::string_view text) { return changed(text, kToupper); }

}  // namespace scanloom::ops
