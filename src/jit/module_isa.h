// The instruction set that a module targets, noted in the module. Emitters use it to choose among
// instructions with the same results.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "base/cpu.h"

namespace scanloom::jit {

void set_isa(llvm::Module& module, Isa isa);
/// Returns the instruction set of the builder's module. Precondition: set_isa().
Isa isa_of(const llvm::IRBuilder<>& builder);

}  // namespace scanloom::jit
