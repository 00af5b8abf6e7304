// A loop over many lanes to one LLVM function with the signature of CompiledLoopFn: all lanes of a
// step before the next step.
#pragma once

#include <llvm/IR/Module.h>

#include "jit/interface.h"

namespace scanloom::jit {

/// Whether slices or rows are so wide that walking them in the order of memory gains more than
/// states in registers.
bool is_wide(const LoopSource& source);

/// As emit_loop, with vectors of `width` lanes. Precondition: there is more than one lane.
void emit_wide_loop(llvm::Module& module, const LoopSource& source, unsigned width,
                    unsigned vector_bytes);

}  // namespace scanloom::jit
