// UTF-8, letter by letter.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scanloom::cli {

struct Letter {
  char32_t code = 0;
  std::size_t bytes = 1;  ///< that it takes; of what is no UTF-8 one
  bool valid = false;
};

/// Precondition: there is one.
Letter first_letter(std::string_view text);

/// Precondition: is_letter(code).
void append_letter(std::string& text, char32_t code);
/// Whether Unicode may have a letter of that number: at most 0x10ffff, and no half of a pair.
bool is_letter(char32_t code);

}  // namespace scanloom::cli
