// Functions of base/math that become internal functions of a module, called where they are needed:
// those that it holds many of, and long ones of several vectors side by side. The instructions are
// the same, and so are the bits.
//
// Many: written out everywhere, their constants fill blocks of thousands of instructions, and
// LLVM's register allocation takes time that grows with the square of these. Long ones: LLVM orders
// the instructions of a block so that few registers are taken, which puts the chains of vectors
// that stand side by side behind each other and makes each wait; by itself such a function is
// ordered better.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <span>

#include "tensor/scalar_functions.h"

namespace scanloom::jit {

/// Notes in the module which functions to call, by how often they occur in what it is made of.
void set_called(llvm::Module& module, std::span<const tensor::ScalarProgram* const> programs);

/// Whether `op` of such an argument is a called function in the module that the builder appends to.
bool is_called(const llvm::IRBuilder<>& builder, tensor::ScalarOp op, const llvm::Type* argument);

/// The module's function of `op` for arguments like `a`; made where it is not there yet, its
/// instructions by `emit(builder, argument)`, which gives its result.
llvm::Value* call_once_emitted(
    llvm::IRBuilder<>& builder, tensor::ScalarOp op, llvm::Value* a,
    llvm::function_ref<llvm::Value*(llvm::IRBuilder<>&, llvm::Value*)> emit);

}  // namespace scanloom::jit
