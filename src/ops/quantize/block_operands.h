// What dequantize_blocks and matmul_nbits check of their quantized operand.
#pragma once

#include "ir/infer_ctx.h"
#include "opmath/block_quantization.h"

namespace scanloom::ops {

/// Checks the attributes, the element types and the last axes of bytes, scales and zero points,
/// which are the operands from `first` on. Errors name the operand or attribute and both numbers.
Expected<tensor::block_quantization::BlockFormat> check_blocks(ir::InferCtx& ctx, int first);

}  // namespace scanloom::ops
