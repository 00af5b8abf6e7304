// The instruction set that a module is for, noted in the module: what emits instructions picks
// those with the same results that the machine has.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "base/cpu.h"

namespace scanloom::jit {

void set_isa(llvm::Module& module, Isa isa);
/// Of the module that the builder appends to. Precondition: set_isa().
Isa isa_of(const llvm::IRBuilder<>& builder);

}  // namespace scanloom::jit
