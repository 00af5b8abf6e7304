// f16 and bf16 to f32 and back, as LLVM IR: such values lie in registers as their bits and are
// computed in f32. The bits are those of tensor/small_float.h.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "tensor/half.h"

namespace scanloom::jit {

/// Registers of such types hold bits that are computed in f32.
using tensor::is_half;

/// 16 bits as the f32 of the same value. A signaling NaN may stay one.
llvm::Value* emit_widen(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* bits);
/// The nearest value to an f32 or f64, even among equals, as 16 bits. NaNs become quiet.
llvm::Value* emit_round(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* value);
/// NaNs of an f32 become quiet.
llvm::Value* emit_quiet(llvm::IRBuilder<>& builder, llvm::Value* value);

}  // namespace scanloom::jit
