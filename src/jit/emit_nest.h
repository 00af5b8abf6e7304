// Lowers a Nest to LLVM IR: loops over all axes except the last, and vectors along the last. Each
// reduction has its own accumulators.
#pragma once

#include "jit/nest_target.h"

namespace scanloom::jit {

/// Appends the nest at the builder's insertion point and records what it stores. Precondition: all
/// programs are supported.
void emit_nest(llvm::IRBuilder<>& builder, const loopnest::Nest& nest, NestTarget& target);

}  // namespace scanloom::jit
