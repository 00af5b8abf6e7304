// A Nest to LLVM IR: loops over all axes but the last, vectors along the last, each fold in
// accumulators beside it.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "jit/interface.h"

namespace scanloom::jit {

/// Appends the nest at the builder's place; `slots` is the address of the run's slots.
/// `vector_bytes`: the width of the machine's vectors; `with_fma`: whether products are added with
/// one rounding. Precondition: all programs are supported.
void emit_nest(llvm::IRBuilder<>& builder, const Nest& nest, llvm::Value* slots,
               unsigned vector_bytes, bool with_fma);

}  // namespace scanloom::jit
