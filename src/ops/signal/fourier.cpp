#include "ops/signal/fourier.h"

#include <numeric>

namespace scanloom::ops {

using ir::ValueId;

ValueId half_up(Composer& c, ValueId length) {
  return c.add(c.div(length, c.number(2)), c.number(1));
}

ValueId transform_axis(Composer& c, ValueId x, int axis, const Transform& t) {
  std::vector<ValueId> inputs = {c.cast(x, at_least_f32(c.dtype(x)))};
  if (t.length.valid()) inputs.push_back(t.length);
  const ValueId y = c.op(dft_op, std::move(inputs),
                         {{"axis", axis},
                          {"inverse", t.inverse ? 1 : 0},
                          {"onesided", t.onesided ? 1 : 0},
                          {"scaled", t.inverse ? 1 : 0}});
  return c.cast(y, c.dtype(x));
}

namespace {

/// Returns the positions of all frames, [frame, position in it], in units of `unit`.
ValueId positions(Composer& c, const Frames& frames, ValueId unit) {
  const ValueId step = c.div(frames.step, unit), length = c.div(frames.length, unit);
  return c.add(c.unsqueeze(c.mul(c.count_up(frames.count), step), {1}), c.count_up(length));
}

}  // namespace

// Frames are made of whole blocks of the signal, if a block is as long as the greatest common
// divisor of length and step. There are so many fewer positions, which would otherwise take twice
// the memory of frames of f32.
ValueId cut_into_frames(Composer& c, ValueId signal, int rank, const Frames& frames) {
  const bool known = frames.known_length > 0 && frames.known_step > 0;
  const std::int64_t block = known ? std::gcd(frames.known_length, frames.known_step) : 1;
  const ValueId unit = c.number(block);
  if (block == 1) return c.gather(signal, positions(c, frames, unit), 1);
  const ValueId batch = c.dim(signal, 0), blocks = c.div(c.dim(signal, 1), unit);
  const ValueId rest = c.shape(signal, 2, rank);
  const ValueId whole = c.slice(signal, 1, c.number(0), c.mul(blocks, unit));
  const ValueId x = c.reshape(whole, c.join({batch, blocks, unit, rest}));
  const ValueId y = c.gather(x, positions(c, frames, unit), 1);
  return c.reshape(y, c.join({batch, frames.count, frames.length, rest}));
}

}  // namespace scanloom::ops
