#include "utf8.h"

namespace scanloom::cli {
namespace {

constexpr char32_t kMin[] = {0, 0, 0x80, 0x800, 0x10000};  // by number of bytes

}  // namespace

bool is_letter(char32_t code) { return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff); }

Letter first_letter(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc0 || first >= 0xf8 || text.size() < bytes) return {};
  char32_t code = first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  if (code < kMin[bytes] || !is_letter(code)) return {};
  return {code, bytes, true};
}

void append_letter(std::string& text, char32_t code) {
  const auto put = [&](char32_t bits) { text += static_cast<char>(bits); };
  if (code < 0x80) return put(code);
  const std::size_t bytes = code >= 0x10000 ? 4 : code >= 0x800 ? 3 : 2;
  put((0xf00u >> bytes & 0xff) | code >> (6 * (bytes - 1)));
  for (std::size_t i = bytes - 1; i-- > 0;) put(0x80 | (code >> (6 * i) & 0x3f));
}

}  // namespace scanloom::cli
