// Small values written on the command line: --feed 'x=[[1, 2], [3, 4]]', --feed 'name="Ada"'.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <scanloom/session.h>

namespace scanloom::cli {

/// Whether the text begins like a list, so that it is not the name of a file.
bool is_list(std::string_view text);

/// Returns the text without its quotes; nullopt if it is not quoted. Throws Failure, which names
/// the input, if the quotes are unterminated or an escape (as in JSON) is unknown.
std::optional<std::string> quoted_text(const ValueInfo& input, std::string_view text);

/// Reads a list as a tensor of the input's element type; the rank is the depth of the lists. If the
/// input is a sequence, reads each item as a tensor. Throws Failure, which names the input and the
/// position, if lists of the same depth differ in length or an element does not fit.
View fed_list(const ValueInfo& input, std::string_view text);

}  // namespace scanloom::cli
