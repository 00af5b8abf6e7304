// One step of an LSTM layer over packed weights: the product with the state, the gates and the new
// state, one block of units after another, with nothing but states going through memory.
#pragma once

#include <cstdint>

#include "kernels/pipelined_tile.h"

namespace scanloom::kernels {

/// Units come in blocks of one vector. Columns of packed matrices, of `xw` and of `bias` stand
/// block by block, in each the gates i, o, f, c; `units` is the number of units rounded up to whole
/// blocks.
struct LstmStep {
  std::int64_t rows = 0;  ///< of the batch
  std::int64_t hidden = 0, units = 0;
  const float* xw = nullptr;                     ///< x . W^T, [rows][4 units]
  const float* r = nullptr;                      ///< R^T in panels (product.h)
  const float* bias = nullptr;                   ///< Wb + Rb
  const float* h = nullptr;                      ///< [rows][units]
  float* c = nullptr;                            ///< [rows][units], updated
  float* next_h = nullptr;                       ///< [rows][units], not h
  std::int64_t first_block = 0, last_block = 0;  ///< those before it; the first is even
  bool backwards = false;                        ///< from the last pair of blocks to the first
  PipelinedProduct<float> pipelined;             ///< of one row: xw of later steps, for all blocks
};

}  // namespace scanloom::kernels
