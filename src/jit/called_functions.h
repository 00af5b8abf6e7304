// Functions of base/math that a module holds so many of that each becomes an internal function,
// called where it is needed: written out everywhere, their constants fill blocks of thousands of
// instructions, and LLVM's register allocation takes time that grows with the square of these. The
// instructions are the same, and so are the bits.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <span>

#include "tensor/scalar_functions.h"

namespace scanloom::jit {

/// Notes in the module which functions to call, by how often they occur in what it is made of.
void set_called(llvm::Module& module, std::span<const tensor::ScalarProgram* const> programs);

/// Whether `op` is one of those of the module that the builder appends to.
bool is_called(const llvm::IRBuilder<>& builder, tensor::ScalarOp op);

/// The module's function of `op` for arguments like `a`; made where it is not there yet, its
/// instructions by `emit(builder, argument)`, which gives its result.
llvm::Value* call_once_emitted(
    llvm::IRBuilder<>& builder, tensor::ScalarOp op, llvm::Value* a,
    llvm::function_ref<llvm::Value*(llvm::IRBuilder<>&, llvm::Value*)> emit);

}  // namespace scanloom::jit
