// f16 and bf16 to f32 and back, as LLVM IR. Registers hold such values as bits; they are computed
// in f32. The bits are those of tensor/small_float.h.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "tensor/half.h"

namespace scanloom::jit {

/// Whether registers of the dtype hold bits that are computed in f32.
using tensor::is_half;

/// Widens 16 bits to the f32 of the same value. A signaling NaN may stay one.
llvm::Value* emit_widen(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* bits);
/// Rounds an f32 or f64 to the nearest value, ties to even, as 16 bits. NaNs become quiet.
llvm::Value* emit_round(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* value);
/// Makes the NaNs of an f32 quiet.
llvm::Value* emit_quiet(llvm::IRBuilder<>& builder, llvm::Value* value);

}  // namespace scanloom::jit
