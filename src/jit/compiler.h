// From LLVM IR to callable code, for the machine's active instruction set.
#pragma once

#include "jit/interface.h"

namespace scanloom::jit {

/// Plugin::compile.
Expected<CompiledLoop> compile_loop(const LoopSource& source);

}  // namespace scanloom::jit
