// The code of a loop as text, for people: what the compiler generates, without running it.
#pragma once

#include <string>

#include "jit/interface.h"

namespace scanloom::jit {

/// Plugin::list_loop.
Expected<std::string> list_loop(const LoopSource& source, CodeForm form);
/// Plugin::list_body.
Expected<std::string> list_body(const loopnest::BodySource& source, CodeForm form);

}  // namespace scanloom::jit
