// Finds and loads the loop compiler on first use.
#pragma once

#include <string>

#include "plan/plan.h"

namespace scanloom {

/// The compiler, or null with the reason in `why_not`. Tries SCANLOOM_JIT_PLUGIN first, then the
/// library's folder, then ../lib. Loaded once per process and kept; thread safe.
const jit::Plugin* jit_compiler(std::string& why_not);

/// The loop compiler and its file; or, with an empty name, why there is none.
struct JitDescription {
  std::string compiler;  ///< "LLVM 19.1.7"
  std::string path, why_not;
};

/// Loads the compiler to describe it. Thread safe.
JitDescription describe_jit();

}  // namespace scanloom
