#include "ops/reduce/normalization.h"

namespace scanloom::ops {

using ir::ValueId;

namespace {

/// Larger windows are not expanded into sums.
constexpr std::int64_t kMaxWindow = 1024;

}  // namespace

Centred centre(Composer& c, ValueId x, const Composer::Ints& axes) {
  const ValueId centred = c.sub(x, c.reduce(x, "mean", axes));
  return {centred, c.reduce(c.mul(centred, centred), "mean", axes)};
}

ValueId normalise(Composer& c, ValueId x, const Composer::Ints& axes, double epsilon) {
  const Centred centred = centre(c, x, axes);
  const ValueId deviation = c.sqrt(c.add(centred.variance, c.like(epsilon, x)));
  return c.mul(centred.x, c.div(c.like(1, x), deviation));
}

ValueId window_sums(Composer& c, ValueId x, std::int64_t axis, std::int64_t before,
                    std::int64_t after) {
  if (before + after >= kMaxWindow) {
    c.refuse(fail(Code::unsupported,
                  "windows of {} elements along axis {}, but at most {} are allowed",
                  before + after + 1, axis, kMaxWindow));
    return {};
  }
  const ValueId padded =
      c.op(ops::pad_op, {x, c.list({before, after}), c.like(0, x), c.list({axis})},
           {{"mode", "constant"}});
  ValueId sum;
  for (std::int64_t shift = 0; shift <= before + after && c.ok(); ++shift) {
    const ValueId start = c.number(shift);
    const ValueId part = c.slice(padded, axis, start, c.add(start, c.dim(x, axis)));
    sum = sum.valid() ? c.add(sum, part) : part;
  }
  return sum;
}

}  // namespace scanloom::ops
