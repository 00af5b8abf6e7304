// Weights that are quantized column by column, in the blocks that dequantize_blocks reads.
#pragma once

#include "opmath/block_quantization.h"
#include "tensor/tensor.h"

namespace scanloom::ops {

/// A matrix of u8, i8, u4 or i4 with a scale and a zero point for all, or for each column of a
/// product.
struct ColumnWeights {
  const tensor::Tensor *numbers = nullptr, *scales = nullptr;
  const tensor::Tensor* zeros = nullptr;  ///< absent: 0
  bool by_rows = false;                   ///< a row per column of the product
};

/// The operands of dequantize_blocks that give the same numbers, one row per column.
struct BlockWeights {
  tensor::Tensor bytes, scales, zeros;
  tensor::block_quantization::BlockFormat format;
};
Expected<BlockWeights> in_blocks(const ColumnWeights& weights);

}  // namespace scanloom::ops
