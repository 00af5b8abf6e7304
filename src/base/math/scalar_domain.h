// The math domains of plain C++ numbers.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/math/domain.h"

namespace scanloom::math {

/// kFuses: behaves like machines with fused multiply-add. Code compiled for other machines then
/// calls the C library: slow, but the same bits.
template <class T, bool kFuses>
struct ScalarDomain {
  using F = T;
  using I = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  using U = std::make_unsigned_t<I>;
  using Mask = bool;
  static constexpr int kBits = static_cast<int>(8 * sizeof(T));

  F constant(double value) const { return static_cast<F>(value); }
  I integer(std::int64_t value) const { return static_cast<I>(value); }
  F add(F a, F b) const { return a + b; }
  F sub(F a, F b) const { return a - b; }
  F mul(F a, F b) const { return a * b; }
  F div(F a, F b) const { return a / b; }
  F mul_add(F a, F b, F c) const {
    if constexpr (!kFuses)
      return a * b + c;
    else if constexpr (kBits == 32)
      return __builtin_fmaf(a, b, c);
    else
      return __builtin_fma(a, b, c);
  }
  F neg(F a) const { return -a; }
  F abs(F a) const { return std::fabs(a); }
  F sqrt(F a) const { return std::sqrt(a); }
  F round(F a) const { return std::nearbyint(a); }
  Mask less(F a, F b) const { return a < b; }
  Mask equal(F a, F b) const { return a == b; }
  Mask is_nan(F a) const { return a != a; }
  Mask either(Mask a, Mask b) const { return a || b; }
  F select(Mask mask, F a, F b) const { return mask ? a : b; }
  I bits(F a) const { return std::bit_cast<I>(a); }
  F from_bits(I a) const { return std::bit_cast<F>(a); }
  I add_int(I a, I b) const { return static_cast<I>(static_cast<U>(a) + static_cast<U>(b)); }
  I sub_int(I a, I b) const { return static_cast<I>(static_cast<U>(a) - static_cast<U>(b)); }
  I and_int(I a, I b) const { return a & b; }
  I or_int(I a, I b) const { return a | b; }
  I shift_left(I a, int n) const { return static_cast<I>(static_cast<U>(a) << n); }
  I shift_right(I a, int n) const { return a >> n; }
  F to_float(I a) const { return static_cast<F>(a); }
  template <class Function>
    requires(kBits == 32)
  F in_double(const Function& function, F a, F b, F c) const {
    return static_cast<F>(
        function(ScalarDomain<double, kFuses>(), double{a}, double{b}, double{c}));
  }
  F replace_rare(Mask mask, F a, F x, PlainFunction<kBits> function) const {
    return mask ? function(x) : a;
  }
};

static_assert(MathDomain<ScalarDomain<float, false>> && MathDomain<ScalarDomain<double, true>>);

}  // namespace scanloom::math
