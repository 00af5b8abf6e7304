#include "opmath/fourier_fns.h"

#include "opmath/fourier_loops.h"

namespace scanloom::tensor {
namespace {

/// One number at a time.
template <class Real>
struct PlainLane {
  using T = Real;
  using F = Real;
  static constexpr std::int64_t kLanes = 1;

  F splat(T value) const { return value; }
  F add(F a, F b) const { return a + b; }
  F sub(F a, F b) const { return a - b; }
  F mul(F a, F b) const { return a * b; }
  F load(const T* from) const { return *from; }
  F load_reversed(const T* from) const { return *from; }
  void store(F value, T* to) const { *to = value; }
};

template <class T>
void plain_split(std::int64_t count, const T* pairs, Parts<T> to) {
  for (std::int64_t i = 0; i < count; ++i) {
    to.re[i] = pairs[2 * i];
    to.im[i] = pairs[2 * i + 1];
  }
}

template <class T>
void plain_join(std::int64_t count, Parts<const T> from, T scale, T* pairs) {
  for (std::int64_t i = 0; i < count; ++i) {
    pairs[2 * i] = scale * from.re[i];
    pairs[2 * i + 1] = scale * from.im[i];
  }
}

}  // namespace

template <class T>
const FourierFns<T>& plain_fourier_fns() {
  using Lane = PlainLane<T>;
  static constexpr FourierFns<T> fns{
      .stage = run_stage<Lane>,
      .turn = run_turn_of_lanes<Lane>,
      .multiply = run_multiply<Lane>,
      .unpack = run_unpack<Lane>,
      .pack = run_pack<Lane>,
      .split = plain_split<T>,
      .join = plain_join<T>,
  };
  return fns;
}

template const FourierFns<float>& plain_fourier_fns<float>();
template const FourierFns<double>& plain_fourier_fns<double>();

}  // namespace scanloom::tensor
