// Remainders of reals as LLVM IR: std::fmod, and numpy's mod made of it. Few operations where the
// quotient is small, tensor::arith::remainder's; per lane the library's function where it is not.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace scanloom::jit {

/// f32 and f64, scalars and vectors: with the sign of `a`.
llvm::Value* emit_remainder(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b);
/// The same with the sign of `b`, also of zero.
llvm::Value* emit_modulo(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b);

}  // namespace scanloom::jit
