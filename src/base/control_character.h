// Characters that change how the text around them is shown. Names from models are arbitrary, so
// text for people and programs made of them must not contain any.
#pragma once

#include <cstddef>
#include <string_view>

namespace scanloom {

/// Returns the bytes of the control character at this position; 0: it is none. These are ASCII's,
/// U+0080 to U+009F, and those of UTF-8 that turn the direction of the text after them (U+202A to
/// U+202E, U+2066 to U+2069). Precondition: at < text.size().
std::size_t control_bytes(std::string_view text, std::size_t at);

}  // namespace scanloom
