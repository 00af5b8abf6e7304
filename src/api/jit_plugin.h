// Finds and loads the loop compiler at first use.
#pragma once

#include <string>

#include "plan/plan.h"

namespace scanloom {

/// The compiler, or null with the reason in `why_not`. Looks at SCANLOOM_JIT_PLUGIN first, then
/// beside the library, then in ../lib. Loaded once per process and kept; thread safe.
const jit::Plugin* jit_compiler(std::string& why_not);

}  // namespace scanloom
