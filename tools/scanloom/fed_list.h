// Small values as the user writes them: --feed 'x=[[1, 2], [3, 4]]', --feed 'name="Ada"'.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <scanloom/session.h>

namespace scanloom::cli {

/// Whether the text begins as a list does, and is not the name of a file.
bool is_list(std::string_view text);

/// The text in quotes without them; nullopt where it is not in quotes. Throws Failure, naming the
/// input, where the quotes do not end or an escape is unknown (they are those of JSON).
std::optional<std::string> quoted_text(const ValueInfo& input, std::string_view text);

/// A list as a tensor of the input's element type, as deep as the lists are; as a sequence, where
/// the input is one, each of whose items is a tensor. Throws Failure, naming the input and the
/// place, where lists beside each other differ in length or depth, or an element does not fit.
View fed_list(const ValueInfo& input, std::string_view text);

}  // namespace scanloom::cli
