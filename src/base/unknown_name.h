// The error about a name that is none of a list.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <scanloom/error.h>

namespace scanloom {

/// Returns the error "unknown pass 'fuse_nest'; did you mean 'fuse_nests'?" with code
/// invalid_argument and a note that lists the known names. `kind`: what the name should be of, in
/// the singular; `plural`: for the note.
[[nodiscard]] Error unknown_name(std::string_view kind, std::string_view plural,
                                 std::string_view name, std::span<const std::string> known);

}  // namespace scanloom
