// Floating-point remainders as LLVM IR: std::fmod, and numpy's mod on top of it. If the quotient is
// small it takes the few operations of tensor::arith::remainder, otherwise a library call per lane.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace scanloom::jit {

/// Emits the remainder with the sign of `a`, for scalars and vectors of f32 and f64.
llvm::Value* emit_remainder(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b);
/// Emits the remainder with the sign of `b`, including for zero.
llvm::Value* emit_modulo(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b);

}  // namespace scanloom::jit
