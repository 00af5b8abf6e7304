#include "ops/random/multinomial.h"

namespace scanloom::ops {

using ir::ValueId;

// The class is the number of cumulative weights that do not exceed the scaled random number. With
// rounding, that number may reach the total; the limit to sums below the total then selects the
// last class with a nonzero weight.
ValueId picked_classes(Composer& c, ValueId weights, ValueId random) {
  const ValueId sums = c.op(cumsum_op, {weights, c.number(1)}, {{"exclusive", 0}, {"reverse", 0}});
  const ValueId total = c.reduce(sums, "max", {1});
  const ValueId scaled = c.mul(random, total);
  const ValueId passed = c.both(c.less_equal(c.unsqueeze(sums, {1}), c.unsqueeze(scaled, {2})),
                                c.less(c.unsqueeze(sums, {1}), c.unsqueeze(total, {1})));
  return c.squeeze(c.reduce(c.cast(passed, DType::i64), "sum", {2}), {2});
}

}  // namespace scanloom::ops
