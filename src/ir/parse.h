// Parses the text form of a module.
#pragma once

#include <string_view>

#include "ir/module.h"
#include "ir/op_def.h"

namespace scanloom::ir {

/// print(parse(text)) == text for every printed text. Takes types as written; infers and verifies
/// nothing. Errors: invalid_model with line and column.
Expected<Module> parse(std::string_view text, OpTable ops);

}  // namespace scanloom::ir
