// Lowers a LoopSource to one LLVM function with the signature of CompiledLoopFn.
#pragma once

#include <llvm/IR/Module.h>

#include "jit/interface.h"

namespace scanloom::jit {

inline constexpr const char* kLoopSymbol = "scanloom_loop";

/// `vector_bytes`: the width of the machine's vectors. Returns whether LLVM's optimization passes
/// gain anything. Precondition: the program is supported.
bool emit_loop(llvm::Module& module, const LoopSource& source, unsigned vector_bytes);

}  // namespace scanloom::jit
