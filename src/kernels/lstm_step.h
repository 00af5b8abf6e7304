// One step of an LSTM layer over packed weights: the product with the state, the gates and the new
// state. Works block by block over the units, so that only the states go through memory.
#pragma once

#include <cstdint>

#include "kernels/pipelined_tile.h"

namespace scanloom::kernels {

/// Units come in blocks of one vector. The columns of packed matrices, of `xw` and of `bias` are
/// ordered by block, and within a block by gate: i, o, f, c. `units` is rounded up to whole blocks.
struct LstmStep {
  std::int64_t rows = 0;  ///< of the batch
  std::int64_t hidden = 0, units = 0;
  const float* xw = nullptr;                     ///< x . W^T, [rows][4 units]
  const float* r = nullptr;                      ///< R^T in panels (product.h)
  const float* bias = nullptr;                   ///< Wb + Rb
  const float* h = nullptr;                      ///< [rows][units]
  float* c = nullptr;                            ///< [rows][units], updated
  float* next_h = nullptr;                       ///< [rows][units], not h
  std::int64_t first_block = 0, last_block = 0;  ///< [first, last); first_block is even
  bool backwards = false;                        ///< from the last pair of blocks to the first
  PipelinedProduct<float> pipelined;  ///< for one row: xw of later steps, spread over all blocks
};

}  // namespace scanloom::kernels
