// Contractions of 32-bit integers, whose sums wrap. Called by the kernel contract.
#pragma once

#include "kernels/kernel.h"

namespace scanloom::kernels {

/// As KernelDef::prepare, of contractions of i32 or u32.
Prepared prepare_integer_product(const PrepareCtx& ctx);

}  // namespace scanloom::kernels
