#include "ops/random/multinomial.h"

namespace scanloom::ops {

using ir::ValueId;

// The class is the number of those whose summed weights do not exceed the number. The last sum may
// lie off the total by roundings; a number beyond it means the last likely class, whose sum is the
// first that is no less than the last.
ValueId picked_classes(Composer& c, ValueId weights, ValueId random) {
  const ValueId sums = c.op(cumsum_op, {weights, c.number(1)}, {{"exclusive", 0}, {"reverse", 0}});
  const ValueId total = c.reduce(sums, "max", {1});
  const ValueId scaled = c.mul(random, total);
  const ValueId passed = c.both(c.less_equal(c.unsqueeze(sums, {1}), c.unsqueeze(scaled, {2})),
                                c.less(c.unsqueeze(sums, {1}), c.unsqueeze(total, {1})));
  return c.squeeze(c.reduce(c.cast(passed, DType::i64), "sum", {2}), {2});
}

}  // namespace scanloom::ops
