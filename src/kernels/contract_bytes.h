// Products of matrices of bytes, as the operator integer_matmul has them. Called by the kernel
// contract.
#pragma once

#include "kernels/kernel.h"

namespace scanloom::kernels {

/// KernelDef::prepare for the operands of integer_matmul (opmath/quantized_matmul.h).
Prepared prepare_byte_product(const PrepareCtx& ctx);

}  // namespace scanloom::kernels
