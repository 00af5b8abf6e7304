// Finds and loads the loop compiler on first use.
#pragma once

#include <string>

#include "plan/plan.h"

namespace scanloom {

/// The compiler, or null with the reason in `why_not`. Tries SCANLOOM_JIT_PLUGIN first, then the
/// library's folder, then ../lib. Loaded once per process and kept; thread safe.
const jit::Plugin* jit_compiler(std::string& why_not);

/// Loads the compiler and says which it is, "LLVM 19.1.7", and from which file; or why there is
/// none, with an empty result. Thread safe.
std::string jit_about(std::string& path, std::string& why_not);

}  // namespace scanloom
