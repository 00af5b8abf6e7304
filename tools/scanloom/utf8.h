// UTF-8 decoding and encoding of single letters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scanloom::cli {

struct Letter {
  char32_t code = 0;
  std::size_t bytes = 1;  ///< its length; 1 if it is not valid UTF-8
  bool valid = false;
};

/// Decodes the first letter. Precondition: the text is not empty.
Letter first_letter(std::string_view text);

/// Encodes a letter. Precondition: is_letter(code).
void append_letter(std::string& text, char32_t code);
/// Whether it is a Unicode scalar value: at most 0x10ffff, and not a surrogate.
bool is_letter(char32_t code);

}  // namespace scanloom::cli
