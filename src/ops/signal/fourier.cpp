#include "ops/signal/fourier.h"

#include <numeric>

#include "opmath/fourier_plan.h"

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

ValueId checked_positive(Composer& c, ValueId value, const std::string& what) {
  c.op(check_equal_op, {c.max(value, c.number(1)), value},
       {{"text", "at least {} is needed as " + what + ", not {}"}});
  return value;
}

void check_fourier_length(Composer& c, ValueId length) {
  c.op(check_equal_op, {c.min(length, c.number(tensor::kMaxFourierLength)), length},
       {{"text", "a transform has at most {} elements, not {}"}});
}

// A longer step than the signal gives as many frames, and its sums do not overflow.
ValueId count_frames(Composer& c, ValueId samples, const Frames& frames) {
  const ValueId step = c.min(frames.step, c.max(samples, c.number(1)));
  const ValueId room = c.add(c.sub(samples, frames.length), step);
  return c.div(c.max(room, c.number(0)), step);
}

ValueId frame_positions(Composer& c, ValueId count, ValueId length, ValueId step) {
  return c.add(c.unsqueeze(c.mul(c.count_up(count), step), {1}), c.count_up(length));
}

// Frames are made of whole blocks of the signal, if a block is as long as the greatest common
// divisor of length and step. There are so many fewer positions, which would otherwise take twice
// the memory of frames of f32.
ValueId cut_into_frames(Composer& c, ValueId signal, int rank, const Frames& frames) {
  const bool known = frames.known_length > 0 && frames.known_step > 0;
  const std::int64_t block = known ? std::gcd(frames.known_length, frames.known_step) : 1;
  if (block == 1)
    return c.gather(signal, frame_positions(c, frames.count, frames.length, frames.step), 1);
  const ValueId unit = c.number(block);
  const ValueId batch = c.dim(signal, 0), blocks = c.div(c.dim(signal, 1), unit);
  const ValueId rest = c.shape(signal, 2, rank);
  const ValueId whole = c.slice(signal, 1, c.number(0), c.mul(blocks, unit));
  const ValueId x = c.reshape(whole, c.join({batch, blocks, unit, rest}));
  const ValueId positions =
      frame_positions(c, frames.count, c.div(frames.length, unit), c.div(frames.step, unit));
  const ValueId y = c.gather(x, positions, 1);
  return c.reshape(y, c.join({batch, frames.count, frames.length, rest}));
}

}  // namespace scanloom::ops
