// The random bits of one execution of the operators `random` and `draw`, which their reference and
// their kernel turn into numbers.
#pragma once

#include "base/philox.h"
#include "tensor/call.h"

namespace scanloom::tensor {

/// The blocks of `random`, from its seed and stream (attributes 2 and 3) and the Call's draws,
/// which it increments. Block numbers are below 2^40; another 2^8 remain for the high bits of the
/// execution.
inline PhiloxBlocks random_blocks(const Call& call) {
  const auto seed = static_cast<std::uint64_t>(call.attrs[2].integer());
  const auto stream = static_cast<std::uint64_t>(call.attrs[3].integer());
  SampleCounter samples;
  if (call.samples != nullptr) samples = {call.samples->run, call.samples->execution++};
  return {.key = {low_word(seed) ^ high_word(stream), low_word(stream) ^ high_word(seed)},
          .high_mask = 0xff,
          .other_bits = high_word(samples.execution) << 8,
          .third = low_word(samples.execution),
          .fourth = low_word(samples.run)};
}

/// The blocks of `draw`, from its key: the number of the draw and of the stream. Precondition: the
/// key has both.
inline PhiloxBlocks sample_blocks(const Call& call) {
  const Operand& key = call.in(0);
  const auto* words = key.data<const std::uint64_t>();
  const std::uint64_t draw = words[0], stream = words[key.strides[0]];
  return {.key = {low_word(stream), high_word(stream)},
          .third = low_word(draw),
          .fourth = high_word(draw)};
}

}  // namespace scanloom::tensor
