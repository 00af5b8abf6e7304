// The mathematical functions of base/math as LLVM IR. Uses the one definition, over a domain that
// emits instructions instead of executing them.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "tensor/scalar_functions.h"

namespace scanloom::jit {

/// For f32 and f64, scalars and vectors. `b` is the second argument of pow, mod_floor and
/// mod_trunc, and null otherwise.
llvm::Value* emit_math(llvm::IRBuilder<>& builder, tensor::ScalarOp op, llvm::Value* a,
                       llvm::Value* b);

/// a b + c, rounded once where the instruction set fuses.
llvm::Value* emit_multiply_add(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b,
                               llvm::Value* c);

}  // namespace scanloom::jit
