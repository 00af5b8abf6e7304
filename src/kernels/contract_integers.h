// Contraction of 32-bit integers, with sums that wrap. Called by the kernel contract.
#pragma once

#include "kernels/kernel.h"

namespace scanloom::kernels {

/// KernelDef::prepare for contractions of i32 or u32.
Prepared prepare_integer_product(const PrepareCtx& ctx);

}  // namespace scanloom::kernels
