// Two convolutions in one call, as in the blocks of mobile networks: one of windows of a single
// position, and one of single channels that alone reads its result. Rows of the first are computed
// where the second reads them, in its padded planes, so that the first result, often the largest of
// a network, is never stored as a whole. Used by kernel conv_pair.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/call.h"
#include "tensor/scalar.h"

namespace scanloom::kernels {

/// The second convolution of a call, as binding knows it (PrepareCtx::pair). The inputs of the
/// call are those of the first convolution, with the operands of what follows it, then those of the
/// second. The attributes and the program of the PrepareCtx are the first one's.
struct ConvPair {
  std::size_t second = 0;   ///< the first input of the second, which is absent
  tensor::Operand between;  ///< the first result, as it would be stored
  std::span<const tensor::Attr> attrs;
  const tensor::ScalarProgram* program = nullptr;  ///< of what follows it, or null
};

}  // namespace scanloom::kernels
