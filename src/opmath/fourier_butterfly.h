// Transforms of a few elements, over lanes of any kind: plain numbers or vectors. L gives numbers F
// (of type T in memory) with add, sub, mul and splat(T). Products are not fused with sums.
#pragma once

#include <cstdint>
#include <type_traits>

namespace scanloom::tensor {

template <class F>
struct ComplexLanes {
  // An implicit constructor would not be compiled for the instruction set of these lanes, as GCC
  // wants for NEON's, whose own constructor is inlined.
  ComplexLanes() {}  // NOLINT(modernize-use-equals-default)
  ComplexLanes(F real, F imaginary) : re(real), im(imaginary) {}

  F re, im;
};

template <class L>
ComplexLanes<typename L::F> add(const L& m, const ComplexLanes<typename L::F>& a,
                                const ComplexLanes<typename L::F>& b) {
  return {m.add(a.re, b.re), m.add(a.im, b.im)};
}

template <class L>
ComplexLanes<typename L::F> sub(const L& m, const ComplexLanes<typename L::F>& a,
                                const ComplexLanes<typename L::F>& b) {
  return {m.sub(a.re, b.re), m.sub(a.im, b.im)};
}

template <class L>
ComplexLanes<typename L::F> multiply(const L& m, const ComplexLanes<typename L::F>& a,
                                     const ComplexLanes<typename L::F>& w) {
  return {m.sub(m.mul(a.re, w.re), m.mul(a.im, w.im)), m.add(m.mul(a.re, w.im), m.mul(a.im, w.re))};
}

/// a - i b and a + i b.
template <class L>
ComplexLanes<typename L::F> sub_turned(const L& m, const ComplexLanes<typename L::F>& a,
                                       const ComplexLanes<typename L::F>& b) {
  return {m.add(a.re, b.im), m.sub(a.im, b.re)};
}

template <class L>
ComplexLanes<typename L::F> add_turned(const L& m, const ComplexLanes<typename L::F>& a,
                                       const ComplexLanes<typename L::F>& b) {
  return {m.sub(a.re, b.im), m.add(a.im, b.re)};
}

/// y[kStep k] is result k of the transform of a, b, c, d.
template <int kStep, class L, class C>
void butterfly_4(const L& m, const C& a, const C& b, const C& c, const C& d, C* y) {
  const C sum_ac = add(m, a, c), sum_bd = add(m, b, d);
  const C difference_ac = sub(m, a, c), difference_bd = sub(m, b, d);
  y[0] = add(m, sum_ac, sum_bd);
  y[kStep] = sub_turned(m, difference_ac, difference_bd);
  y[2 * kStep] = sub(m, sum_ac, sum_bd);
  y[3 * kStep] = add_turned(m, difference_ac, difference_bd);
}

template <class L, class C>
void butterfly_3(const L& m, const C* x, C* y) {
  using T = typename L::T;
  const auto half = m.splat(T{0.5}), sine = m.splat(static_cast<T>(0.86602540378443864676));
  const C sum = add(m, x[1], x[2]), difference = sub(m, x[1], x[2]);
  const C mean{m.sub(x[0].re, m.mul(half, sum.re)), m.sub(x[0].im, m.mul(half, sum.im))};
  const C turned{m.mul(sine, difference.re), m.mul(sine, difference.im)};
  y[0] = add(m, x[0], sum);
  y[1] = sub_turned(m, mean, turned);
  y[2] = add_turned(m, mean, turned);
}

template <class L, class C>
void butterfly_8(const L& m, const C* x, C* y) {
  using T = typename L::T;
  const auto root = m.splat(static_cast<T>(0.70710678118654752440));
  butterfly_4<2>(m, add(m, x[0], x[4]), add(m, x[1], x[5]), add(m, x[2], x[6]), add(m, x[3], x[7]),
                 y);
  const C first = sub(m, x[1], x[5]), second = sub(m, x[2], x[6]), third = sub(m, x[3], x[7]);
  const C first_turned{m.mul(root, m.add(first.re, first.im)),
                       m.mul(root, m.sub(first.im, first.re))};
  const C second_turned{second.im, m.sub(m.splat(T{0}), second.re)};
  const C third_turned{m.mul(root, m.sub(third.im, third.re)),
                       m.sub(m.splat(T{0}), m.mul(root, m.add(third.re, third.im)))};
  butterfly_4<2>(m, sub(m, x[0], x[4]), first_turned, second_turned, third_turned, y + 1);
}

/// An odd number of elements: pairs of elements are added and subtracted first. `table` holds the
/// cosines, then the sines, of i / radix turns. kRadix: 0 if it is known only at run time.
template <int kRadix, class L, class C>
void butterfly_odd(const L& m, std::int64_t given, const typename L::T* table, const C* x, C* y) {
  constexpr int kHalf = kRadix == 0 ? 15 : kRadix / 2;
  const int radix = kRadix == 0 ? static_cast<int>(given) : kRadix, half = radix / 2;
  C sum[kHalf], difference[kHalf];
  C total = x[0];
  for (int j = 0; j < half; ++j) {
    sum[j] = add(m, x[j + 1], x[radix - 1 - j]);
    difference[j] = sub(m, x[j + 1], x[radix - 1 - j]);
    total = add(m, total, sum[j]);
  }
  y[0] = total;
  for (int k = 1; k <= half; ++k) {
    const auto first_cosine = m.splat(table[k]), first_sine = m.splat(table[radix + k]);
    C even{m.add(x[0].re, m.mul(first_cosine, sum[0].re)),
           m.add(x[0].im, m.mul(first_cosine, sum[0].im))};
    C odd{m.mul(first_sine, difference[0].re), m.mul(first_sine, difference[0].im)};
    for (int j = 1; j < half; ++j) {
      const int at = (j + 1) * k % radix;
      const auto cosine = m.splat(table[at]), sine = m.splat(table[radix + at]);
      even = {m.add(even.re, m.mul(cosine, sum[j].re)), m.add(even.im, m.mul(cosine, sum[j].im))};
      odd = {m.add(odd.re, m.mul(sine, difference[j].re)),
             m.add(odd.im, m.mul(sine, difference[j].im))};
    }
    y[k] = sub_turned(m, even, odd);
    y[radix - k] = add_turned(m, even, odd);
  }
}

/// The transform of x[0] ... x[radix - 1].
template <int kRadix, class L, class C>
void butterfly(const L& m, std::int64_t radix, const typename L::T* table, const C* x, C* y) {
  if constexpr (kRadix == 2) {
    y[0] = add(m, x[0], x[1]);
    y[1] = sub(m, x[0], x[1]);
  } else if constexpr (kRadix == 3) {
    butterfly_3(m, x, y);
  } else if constexpr (kRadix == 4) {
    butterfly_4<1>(m, x[0], x[1], x[2], x[3], y);
  } else if constexpr (kRadix == 8) {
    butterfly_8(m, x, y);
  } else {
    butterfly_odd<kRadix>(m, radix, table, x, y);
  }
}

}  // namespace scanloom::tensor
