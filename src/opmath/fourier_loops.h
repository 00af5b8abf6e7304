// The loops of FourierFns over lanes of any kind. Besides what butterflies need, L has kLanes,
// load, store, and load_reversed; Narrower is the same with half as many lanes.
#pragma once

#include <cstdint>

#include "opmath/fourier_butterfly.h"
#include "opmath/fourier_fns.h"

namespace scanloom::tensor {

/// Calls f(lanes, i) so that all i in [first, first + count) are covered. The last lanes may
/// overlap those before, so f must not change what it reads.
template <class L, class F>
void for_lanes(std::int64_t first, std::int64_t count, const F& f) {
  if constexpr (L::kLanes > 1) {
    if (count < L::kLanes) return for_lanes<typename L::Narrower>(first, count, f);
  }
  std::int64_t i = first;
  for (; i + L::kLanes <= first + count; i += L::kLanes) f(L(), i);
  if (i < first + count) f(L(), first + count - L::kLanes);
}

template <class L>
ComplexLanes<typename L::F> load_parts(const L& m, const Parts<const typename L::T>& from,
                                       std::int64_t i) {
  return {m.load(from.re + i), m.load(from.im + i)};
}

template <class L>
void store_parts(const L& m, const ComplexLanes<typename L::F>& value,
                 const Parts<typename L::T>& to, std::int64_t i) {
  m.store(value.re, to.re + i);
  m.store(value.im, to.im + i);
}

template <class L>
ComplexLanes<typename L::F> splat_pair(const L& m, typename L::T re, typename L::T im) {
  return {m.splat(re), m.splat(im)};
}

/// One group. kFirst: it is group 0, whose results are not multiplied.
template <class L, int kRadix, bool kFirst>
void run_stage_group(const FourierStage<typename L::T>& s, std::int64_t p) {
  constexpr int kMaxParts = kRadix == 0 ? static_cast<int>(kMaxRadix) : kRadix;
  const int radix = kRadix == 0 ? static_cast<int>(s.radix) : kRadix;
  const typename L::T* const roots = kFirst ? nullptr : s.roots + 2 * (p - 1) * (radix - 1);
  const std::int64_t from = p * s.run, to = p * radix * s.run, step = s.groups * s.run;
  for_lanes<L>(0, s.run, [&]<class M>(const M& m, std::int64_t t) {
    ComplexLanes<typename M::F> x[kMaxParts], y[kMaxParts];
    for (int j = 0; j < radix; ++j) x[j] = load_parts(m, s.x, from + j * step + t);
    butterfly<kRadix>(m, radix, s.odd, x, y);
    store_parts(m, y[0], s.y, to + t);
    for (int j = 1; j < radix; ++j) {
      if constexpr (!kFirst)
        y[j] = multiply(m, y[j], splat_pair(m, roots[2 * j - 2], roots[2 * j - 1]));
      store_parts(m, y[j], s.y, to + j * s.run + t);
    }
  });
}

template <class L, int kRadix>
void run_stage_of(const FourierStage<typename L::T>& s) {
  run_stage_group<L, kRadix, true>(s, 0);
  for (std::int64_t p = 1; p < s.groups; ++p) run_stage_group<L, kRadix, false>(s, p);
}

template <class L>
void run_stage(const FourierStage<typename L::T>& s) {
  switch (s.radix) {
    case 2:
      return run_stage_of<L, 2>(s);
    case 3:
      return run_stage_of<L, 3>(s);
    case 4:
      return run_stage_of<L, 4>(s);
    case 5:
      return run_stage_of<L, 5>(s);
    case 7:
      return run_stage_of<L, 7>(s);
    case 8:
      return run_stage_of<L, 8>(s);
    default:
      return run_stage_of<L, 0>(s);
  }
}

template <class L>
void run_multiply(const FourierFactors<typename L::T>& s) {
  if (s.lanes == 1) {
    for_lanes<L>(0, s.count, [&]<class M>(const M& m, std::int64_t i) {
      store_parts(m, multiply(m, load_parts(m, s.x, i), load_parts(m, s.factors, i)), s.y, i);
    });
    return;
  }
  for (std::int64_t k = 0; k < s.count; ++k)
    for_lanes<L>(k * s.lanes, s.lanes, [&]<class M>(const M& m, std::int64_t i) {
      const auto factor = splat_pair(m, s.factors.re[k], s.factors.im[k]);
      store_parts(m, multiply(m, load_parts(m, s.x, i), factor), s.y, i);
    });
}

/// The turn of a matrix whose elements are runs of several lanes.
template <class L>
void run_turn_of_lanes(const FourierTurn<typename L::T>& s) {
  for (std::int64_t row = 0; row < s.rows; ++row)
    for (std::int64_t column = 0; column < s.columns; ++column) {
      const std::int64_t k = row * s.columns + column;
      const std::int64_t moved = (column * s.rows + row - k) * s.lanes;
      for_lanes<L>(k * s.lanes, s.lanes, [&]<class M>(const M& m, std::int64_t i) {
        const auto factor = splat_pair(m, s.factors.re[k], s.factors.im[k]);
        store_parts(m, multiply(m, load_parts(m, s.x, i), factor), s.y, i + moved);
      });
    }
}

/// Element k of the spectrum, from elements k (z) and half - k (v) of the transform.
template <class L, class C>
C unpacked(const L& m, const C& z, const C& v, const C& root) {
  const auto half = m.splat(typename L::T{0.5});
  const C even{m.add(z.re, v.re), m.sub(z.im, v.im)};
  const C odd = multiply(m, C{m.add(z.im, v.im), m.sub(v.re, z.re)}, root);
  return {m.mul(half, m.add(even.re, odd.re)), m.mul(half, m.add(even.im, odd.im))};
}

/// The opposite: twice element k of the transform, from elements k and half - k of the spectrum.
template <class L, class C>
C packed(const L& m, const C& z, const C& v, const C& root) {
  const C even{m.add(z.re, v.re), m.sub(z.im, v.im)};
  const C odd{m.sub(z.re, v.re), m.add(z.im, v.im)};
  const C turned{m.add(m.mul(odd.re, root.re), m.mul(odd.im, root.im)),
                 m.sub(m.mul(odd.im, root.re), m.mul(odd.re, root.im))};
  return add_turned(m, even, turned);
}

/// y[k] = f(m, x[k], x[half - k], root) for k in [first, end); element `half` of x is element
/// `wrapped`.
template <class L, class F>
void for_mirrored(const FourierHalves<typename L::T>& s, std::int64_t first, std::int64_t end,
                  std::int64_t wrapped, const F& f) {
  const auto single = [&](std::int64_t k) {
    const std::int64_t from = k == s.half ? wrapped : k, other = k == 0 ? wrapped : s.half - k;
    for_lanes<L>(0, s.lanes, [&]<class M>(const M& m, std::int64_t l) {
      store_parts(
          m,
          f(m, load_parts(m, s.x, from * s.lanes + l), load_parts(m, s.x, other * s.lanes + l),
            splat_pair(m, s.roots.re[k], s.roots.im[k])),
          s.y, k * s.lanes + l);
    });
  };
  const std::int64_t inner = s.half - 1;
  if (s.lanes > 1 || inner < 1) {
    for (std::int64_t k = first; k < end; ++k) single(k);
    return;
  }
  single(0);
  for_lanes<L>(1, inner, [&]<class M>(const M& m, std::int64_t k) {
    const std::int64_t other = s.half - k - M::kLanes + 1;
    const ComplexLanes<typename M::F> mirrored{m.load_reversed(s.x.re + other),
                                               m.load_reversed(s.x.im + other)};
    store_parts(m, f(m, load_parts(m, s.x, k), mirrored, load_parts(m, s.roots, k)), s.y, k);
  });
  if (end > s.half) single(s.half);
}

template <class L>
void run_unpack(const FourierHalves<typename L::T>& s) {
  for_mirrored<L>(s, 0, s.half + 1, 0,
                  [](const auto& m, const auto& z, const auto& v, const auto& root) {
                    return unpacked(m, z, v, root);
                  });
}

template <class L>
void run_pack(const FourierHalves<typename L::T>& s) {
  for_mirrored<L>(s, 0, s.half, s.half,
                  [](const auto& m, const auto& z, const auto& v, const auto& root) {
                    return packed(m, z, v, root);
                  });
}

}  // namespace scanloom::tensor
