// Lanes of elements between memory and registers.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>

#include <scanloom/dtype.h>

namespace scanloom::jit {

/// `base` and `bytes` more.
llvm::Value* add_bytes(llvm::IRBuilder<>& builder, llvm::Value* base, llvm::Value* bytes);

/// `width` elements as a register, the first at `address`, each `stride` elements after the one
/// before; with stride 0 they are one element.
llvm::Value* load_lanes(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* address,
                        std::int64_t stride, unsigned width);

/// With stride 0 the first lane is stored.
void store_lanes(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* value, llvm::Value* address,
                 std::int64_t stride, unsigned width);

}  // namespace scanloom::jit
