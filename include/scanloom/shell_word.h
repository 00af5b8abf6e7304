// Words of a shell, for programs that suggest commands: names in models are arbitrary text, which a
// shell must not execute when a suggestion is pasted into it.
#pragma once

#include <string>
#include <string_view>

#include <scanloom/api.h>

namespace scanloom {

/// Returns the text as one word of a POSIX shell, quoted unless no character needs it:
/// `'$(date)'`. Text with control characters, or with characters that turn the direction of text,
/// becomes `$'...'`, which bash, zsh and ksh read. Thread safe.
[[nodiscard]] SCANLOOM_API std::string shell_word(std::string_view text);

}  // namespace scanloom
