// Lowers a loop in stages to one LLVM function with the signature of CompiledLoopFn.
#pragma once

#include <llvm/IR/Module.h>

#include "jit/interface.h"
#include "jit/stages.h"

namespace scanloom::jit {

/// As emit_loop. Precondition: `stages` were computed for `source`.
void emit_stages(llvm::Module& module, const LoopSource& source, const Stages& stages,
                 unsigned vector_bytes);

}  // namespace scanloom::jit
