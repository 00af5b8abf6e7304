// Lowers element programs to LLVM IR: every instruction for scalars (width 1) and for vectors of
// lanes, with the same bits as the reference evaluator.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <span>
#include <vector>

#include "base/expected.h"
#include "tensor/scalar.h"

namespace scanloom::jit {

/// Succeeds if all of the program has machine code; the error says what is missing.
Expected<void> check_supported(const tensor::ScalarProgram& program);

/// Returns the type of a register: i1 for booleans, otherwise as wide as the element; a vector if
/// width > 1. f16 and bf16 are held as bits, see jit/emit_f16.h.
llvm::Type* register_type(llvm::LLVMContext& context, DType dtype, unsigned width);
/// Returns the type in memory, where booleans take a byte.
llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype, unsigned width);

/// Appends the instructions of `program`, given the registers of its inputs; returns all registers.
/// Precondition: check_supported(program).
std::vector<llvm::Value*> emit_program(llvm::IRBuilder<>& builder,
                                       const tensor::ScalarProgram& program,
                                       std::span<llvm::Value* const> inputs, unsigned width);
/// Emits one instruction and sets its register. Precondition: its arguments' registers are set.
void emit_instr(llvm::IRBuilder<>& builder, const tensor::ScalarProgram& program, std::size_t instr,
                std::vector<llvm::Value*>& registers, unsigned width);

}  // namespace scanloom::jit
