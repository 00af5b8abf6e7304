// Lowers a BodySource to one LLVM function with the signature of CompiledBodyFn.
#pragma once

#include <llvm/IR/Module.h>

#include "jit/interface.h"

namespace scanloom::jit {

inline constexpr const char* kBodySymbol = "scanloom_body";

/// `vector_bytes`: the width of the machine's vectors. Precondition: all programs are supported.
void emit_body(llvm::Module& module, const loopnest::BodySource& source, unsigned vector_bytes);

}  // namespace scanloom::jit
