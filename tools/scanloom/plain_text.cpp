#include "plain_text.h"

#include "utf8.h"

namespace scanloom::cli {
namespace {

constexpr char32_t kNone = 0xffffffff;  // not a letter

bool is_within(char32_t letter, char32_t first, char32_t last) {
  return letter >= first && letter <= last;
}

/// The last two ranges turn the direction of the text after them.
bool is_control(char32_t letter) {
  return letter < 0x20 || is_within(letter, 0x7f, 0x9f) || is_within(letter, 0x202a, 0x202e) ||
         is_within(letter, 0x2066, 0x2069);
}

std::string without_controls(std::string_view text, char32_t kept) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const Letter letter = first_letter(text);
    if (letter.valid && (letter.code == kept || !is_control(letter.code)))
      plain += text.substr(0, letter.bytes);
    else
      plain += '?';
    text.remove_prefix(letter.bytes);
  }
  return plain;
}

}  // namespace

std::string plain_line(std::string_view text) { return without_controls(text, kNone); }
std::string plain_text(std::string_view text) { return without_controls(text, '\n'); }

}  // namespace scanloom::cli
