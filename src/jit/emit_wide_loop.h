// Lowers a loop over many lanes to one LLVM function with the signature of CompiledLoopFn: computes
// all lanes of a step before the next step.
#pragma once

#include <llvm/IR/Module.h>

#include "jit/interface.h"
#include "jit/lane_program.h"

namespace scanloom::jit {

/// Whether there are slices or rows of more than one element.
bool has_rows(const LoopSource& source);
/// Whether they are so wide that walking them in memory order gains more than keeping states in
/// registers.
bool is_wide(const LoopSource& source);

/// As emit_loop; `program` is the source's. Precondition: no condition is evaluated per step.
void emit_wide_loop(llvm::Module& module, const LoopSource& source, const LaneProgram& program,
                    unsigned vector_bytes);

}  // namespace scanloom::jit
