#include "ops/signal/fourier.h"

namespace scanloom::ops {

using ir::ValueId;

namespace {

/// Returns the weight of each input. Input n counts twice if it represents its conjugate, too: all
/// inputs of a one-sided spectrum except the first and, for an even length, the last.
ValueId conjugate_weights(Composer& c, const Transform& t, ValueId input) {
  const ValueId mirrored = c.sub(t.length, input);
  const ValueId alone =
      c.op(ops::logical_or_op, {c.equal(input, c.number(0)), c.equal(input, mirrored)});
  return c.where(alone, c.scalar(1, DType::f64), c.scalar(2, DType::f64));
}

/// Returns the matrix [inputs, input parts, outputs, output parts] of dtype. Part (p, q) of the
/// factor of input n in output k is the cosine of n k / length turns plus q - p quarter turns (p -
/// q for the inverse). Turns are reduced as integers, in quarters of 1 / length.
ValueId transform_matrix(Composer& c, const Transform& t, DType dtype) {
  const ValueId n = c.unsqueeze(c.count_up(t.inputs), {1, 2, 3});
  const ValueId k = c.unsqueeze(c.count_up(t.outputs), {1});
  const ValueId p = c.unsqueeze(c.count_up(c.number(t.input_parts)), {1, 2});
  const ValueId q = c.count_up(c.number(t.output_parts));
  const ValueId four = c.number(4), turn = c.mul(four, t.length);
  // n k may be large, so it is reduced before it is multiplied by 4.
  const ValueId product = c.mul(four, c.mod(c.mul(n, k), t.length));
  const ValueId quarters = c.mul(t.inverse ? c.sub(p, q) : c.sub(q, p), t.length);
  const ValueId angle = c.cast(c.mod(c.add(product, quarters), turn), DType::f64);
  const ValueId unit = c.div(c.scalar(2 * kPi, DType::f64), c.cast(turn, DType::f64));
  ValueId factor = c.cos(c.mul(angle, unit));
  if (t.inverse && t.onesided) factor = c.mul(factor, conjugate_weights(c, t, n));
  if (t.inverse) factor = c.div(factor, c.cast(t.length, DType::f64));
  return c.cast(factor, dtype);
}

}  // namespace

ValueId half_up(Composer& c, ValueId length) {
  return c.add(c.div(length, c.number(2)), c.number(1));
}

ValueId transform_axis(Composer& c, ValueId x, int rank, int axis, const Transform& t) {
  const DType dtype = at_least_f32(c.dtype(x));
  const ValueId part = c.slice(c.cast(x, dtype), axis, c.number(0), t.inputs);
  std::string letters;
  for (int i = 0; i < rank; ++i) letters.push_back(static_cast<char>('a' + i));
  std::string result = letters;
  result[static_cast<std::size_t>(axis)] = 'y';
  result.back() = 'z';
  const std::string matrix = {letters[static_cast<std::size_t>(axis)], letters.back(), 'y', 'z'};
  const ValueId factors = transform_matrix(c, t, dtype);
  return c.cast(c.contract(part, factors, letters + "," + matrix + "->" + result), c.dtype(x));
}

}  // namespace scanloom::ops
