// The random bits of one execution of the operators `random` and `draw`, which their reference and
// their kernel make numbers of.
#pragma once

#include "base/philox.h"
#include "tensor/call.h"

namespace scanloom::tensor {

/// Of `random`, by its seed and stream (attributes 2 and 3) and the Call's draws, which it counts.
/// Blocks are below 2^40, of which 2^8 are left over for the high bits of the execution.
inline PhiloxBlocks random_blocks(const Call& call) {
  const auto seed = static_cast<std::uint64_t>(call.attrs[2].integer());
  const auto stream = static_cast<std::uint64_t>(call.attrs[3].integer());
  SampleCounter samples;
  if (call.samples != nullptr) samples = {call.samples->run, call.samples->execution++};
  return {.key = {low_word(seed) ^ high_word(stream), low_word(stream) ^ high_word(seed)},
          .high_mask = 0xff,
          .beside = high_word(samples.execution) << 8,
          .third = low_word(samples.execution),
          .fourth = low_word(samples.run)};
}

/// Of `draw`, by its key: the number of the draw and that of the stream. Precondition: it has both.
inline PhiloxBlocks sample_blocks(const Call& call) {
  const Operand& key = call.in(0);
  const auto* words = key.data<const std::uint64_t>();
  const std::uint64_t draw = words[0], stream = words[key.strides[0]];
  return {.key = {low_word(stream), high_word(stream)},
          .third = low_word(draw),
          .fourth = high_word(draw)};
}

}  // namespace scanloom::tensor
