// Functions of base/math that become internal functions of a module and are called where needed.
// The instructions are the same, and so are the bits. Two kinds are called:
//
// Frequent ones. Inlined everywhere, their constants fill blocks of thousands of instructions, and
// the time of LLVM's register allocation grows with the square of a block's length.
// Long ones on several vectors. LLVM orders the instructions of a block to use few registers, which
// places the independent chains one after another, so that each waits. A function of its own is
// scheduled better.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <span>

#include "tensor/scalar_functions.h"

namespace scanloom::jit {

/// Notes in the module which functions to call, by how often they occur in `programs`.
void set_called(llvm::Module& module, std::span<const tensor::ScalarProgram* const> programs);

/// Whether `op` on such an argument is a called function in the builder's module.
bool is_called(const llvm::IRBuilder<>& builder, tensor::ScalarOp op, const llvm::Type* argument);

/// Calls the module's function of `op` for arguments like `a` and, unless it is null, `b`. If there
/// is none yet, creates it with the instructions of `emit(builder, a, b)`, which returns its
/// result.
llvm::Value* call_once_emitted(
    llvm::IRBuilder<>& builder, tensor::ScalarOp op, llvm::Value* a, llvm::Value* b,
    llvm::function_ref<llvm::Value*(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*)> emit);

}  // namespace scanloom::jit
