#include <algorithm>

#include <fmt/format.h>

#include <scanloom/shell_word.h>

#include "base/control_character.h"

namespace scanloom {
namespace {

bool has_controls(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at)
    if (control_bytes(text, at) > 0) return true;
  return false;
}

/// "$'a\\012b'": three octal digits, since a digit may follow.
std::string with_escapes(std::string_view text) {
  std::string word = "$'";
  std::size_t controls = 0;  // bytes left of a control character
  for (std::size_t at = 0; at < text.size(); ++at) {
    controls = std::max(controls, control_bytes(text, at));
    if (controls > 0) {
      word += fmt::format("\\{:03o}", static_cast<unsigned char>(text[at]));
      --controls;
      continue;
    }
    if (text[at] == '\'' || text[at] == '\\') word += '\\';
    word += text[at];
  }
  return word + "'";
}

}  // namespace

std::string shell_word(std::string_view text) {
  // zsh replaces a word that begins with '=' by the path of a program.
  const bool is_plain = !text.empty() && text[0] != '=' &&
                        text.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789_./=,:-") == std::string_view::npos;
  if (is_plain) return std::string(text);
  if (has_controls(text)) return with_escapes(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace scanloom
