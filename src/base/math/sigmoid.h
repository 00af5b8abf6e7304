// sigmoid(x) = 1 / (1 + exp(-x)), computed from exp(-|x|) so that nothing overflows: 3 ulp.
// tanh(x) = e / (e + 2) with e = exp(2 |x|) - 1: 3 ulp. softplus(x) = max(x, 0) + log1p(exp(-|x|)):
// 3 ulp.
#pragma once

#include "base/math/exp.h"
#include "base/math/log.h"

namespace scanloom::math {

template <MathDomain M>
typename M::F sigmoid(const M& m, typename M::F x) {
  const auto decay = exp_nonpositive(m, negated_size(m, x));
  const auto one = m.constant(1);
  const auto above = by_sign(m, x, decay, one);
  return m.div(above, m.add(one, decay));
}

template <MathDomain M>
typename M::F tanh(const M& m, typename M::F x) {
  // Beyond 20 the result is 1 in both formats.
  const auto bounded = at_most(m, m.abs(x), 20);
  const auto e = expm1_bounded(m, m.add(bounded, bounded));
  // NaN propagates through every step.
  return copy_sign(m, m.div(e, m.add(e, m.constant(2))), x);
}

template <MathDomain M>
typename M::F softplus(const M& m, typename M::F x) {
  const auto zero = m.constant(0);
  const auto positive = m.select(m.less(zero, x), x, zero);
  const auto result = m.add(positive, log1p_positive(m, exp_nonpositive(m, negated_size(m, x))));
  return m.select(m.is_nan(x), x, result);
}

}  // namespace scanloom::math
