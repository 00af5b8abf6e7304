// Reads the text form of the loop-nest IR (loopnest/print.h).
#pragma once

#include <string_view>

#include "base/expected.h"
#include "loopnest/loopnest.h"

namespace scanloom::loopnest {

/// Returns the body that the text describes. Comments begin with two slashes. Errors:
/// invalid_model, with line and column. What is read is well formed, not necessarily sound: see
/// loopnest/verify.h.
Expected<BodySource> parse(std::string_view text);

}  // namespace scanloom::loopnest
