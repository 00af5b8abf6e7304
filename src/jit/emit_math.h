// The mathematical functions of base/math as LLVM IR: the one definition, over a domain that emits
// instructions instead of executing them.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "tensor/scalar_functions.h"

namespace scanloom::jit {

/// Says that the module is for machines with AVX-512's instruction that scales by powers of two.
/// Results are the same, in fewer instructions.
void allow_scaling(llvm::Module& module);
/// f32 and f64, scalars and vectors; `b` is pow's exponent, null otherwise.
llvm::Value* emit_math(llvm::IRBuilder<>& builder, tensor::ScalarOp op, llvm::Value* a,
                       llvm::Value* b);

}  // namespace scanloom::jit
