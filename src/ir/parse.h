// Reads the text form of a module.
#pragma once

#include <string_view>

#include "ir/module.h"
#include "ir/op_def.h"

namespace scanloom::ir {

/// print(parse(text)) == text for every printed text. Errors: invalid_model with line and column.
/// Types are those written; nothing is inferred and nothing verified.
Expected<Module> parse(std::string_view text, OpTable ops);

}  // namespace scanloom::ir
