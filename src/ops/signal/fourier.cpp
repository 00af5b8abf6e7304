#include "ops/signal/fourier.h"

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

}  // namespace scanloom::ops
