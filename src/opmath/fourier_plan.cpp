#include "opmath/fourier_plan.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>

#include "opmath/unit_roots.h"

namespace scanloom::tensor {
namespace {

/// Returns the factors of n in the order of the passes; empty if one of them is too large.
std::vector<std::int64_t> radices_of(std::int64_t n) {
  std::vector<std::int64_t> radices;
  std::int64_t twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  // A pass of radix 2 takes nearly as long as one of radix 8.
  if (twos == 1) radices.push_back(2);
  for (; twos >= 2 && twos % 3 != 0; twos -= 2) radices.push_back(4);
  for (; twos >= 3; twos -= 3) radices.push_back(8);
  for (std::int64_t radix = 3; radix <= kMaxRadix; radix += 2)
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  if (n > 1) radices.clear();
  return radices;
}

bool is_smooth(std::int64_t n, std::int64_t greatest) {
  for (std::int64_t factor = 2; factor <= greatest; ++factor)
    while (n % factor == 0) n /= factor;
  return n == 1;
}

/// Returns the divisor of n that is nearest to its square root, and not greater: the columns are
/// adjacent elements.
std::int64_t rows_of(std::int64_t n) {
  std::int64_t best = 1;
  for (std::int64_t rows = 1; rows * rows <= n; ++rows)
    if (n % rows == 0) best = rows;
  return best;
}

/// Returns a length of at least `least` that is transformed quickly.
std::int64_t quick_length(std::int64_t least) {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t five = 1; five < 2 * least; five *= 5)
    for (std::int64_t three = five; three < 2 * least; three *= 3) {
      std::int64_t length = three;
      while (length < least) length *= 2;
      if (length % 16 == 0) best = std::min(best, length);
    }
  std::int64_t power = 16;
  while (power < least) power *= 2;
  return std::min(best, power);
}

template <class T>
void push(FourierTable<T>& table, const UnitRoots::Root& root) {
  table.re.push_back(static_cast<T>(root.re));
  table.im.push_back(static_cast<T>(root.im));
}

template <class T>
void resize(FourierTable<T>& table, std::int64_t count) {
  table.re.assign(static_cast<std::size_t>(count), T{0});
  table.im.assign(static_cast<std::size_t>(count), T{0});
}

}  // namespace

template <class T>
void FourierBuffers<T>::swap_buffers() {
  std::swap(from, to);
}

template <class T>
void FourierBuffers<T>::swap_parts() {
  std::swap(from.re, from.im);
  std::swap(to.re, to.im);
}

template <class T>
FourierPlan<T>::FourierPlan(std::int64_t length) : length_(length) {
  if (is_smooth(length, kMaxRadix))
    plan_sides();
  else
    plan_convolution();
}

template <class T>
void FourierPlan<T>::plan_sides() {
  const std::int64_t rows = rows_of(length_);
  sides_[0].length = rows;
  sides_[1].length = length_ / rows;
  for (Side& side : sides_) {
    const UnitRoots roots(side.length);
    std::int64_t rest = side.length;
    for (const std::int64_t radix : radices_of(side.length)) {
      const std::int64_t step = side.length / rest;  // a root of `rest` is this many of the whole
      rest /= radix;
      Stage stage{.radix = radix, .groups = rest, .roots = {}, .odd = {}};
      for (std::int64_t p = 1; p < rest; ++p)
        for (std::int64_t j = 1; j < radix; ++j) {
          const UnitRoots::Root root = roots(p * j * step);
          stage.roots.push_back(static_cast<T>(root.re));
          stage.roots.push_back(static_cast<T>(root.im));
        }
      if (radix % 2 == 1 && radix > 3) {
        const UnitRoots turns(radix);
        for (std::int64_t i = 0; i < radix; ++i) stage.odd.push_back(static_cast<T>(turns(i).re));
        for (std::int64_t i = 0; i < radix; ++i) stage.odd.push_back(static_cast<T>(-turns(i).im));
      }
      side.stages.push_back(std::move(stage));
    }
  }
  if (rows == 1) return;
  const UnitRoots roots(length_);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < sides_[1].length; ++column)
      push(turn_, roots(row * column));
}

// n k = (n^2 + k^2 - (k - n)^2) / 2, so result k is chirp(k) times the convolution of x(n) chirp(n)
// with the conjugate chirp, where chirp(n) = exp(-pi i n^2 / length).
template <class T>
void FourierPlan<T>::plan_convolution() {
  const std::int64_t size = quick_length(2 * length_ - 1);
  const UnitRoots roots(2 * length_);
  FourierTable<double> mirrored;
  resize(mirrored, size);
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::int64_t square = 0;  // n^2 modulo 2 length
  for (std::int64_t n = 0; n < length_; ++n) {
    const UnitRoots::Root root = roots(square);
    push(chirp_, root);
    for (const std::int64_t i : {n, (size - n) % size}) {
      mirrored.re[at(i)] = root.re / static_cast<double>(size);
      mirrored.im[at(i)] = -root.im / static_cast<double>(size);
    }
    square = (square + 2 * n + 1) % (2 * length_);
  }
  const FourierPlan<double> exact(size);
  FourierTable<double> work;
  resize(work, exact.work());
  resize(spectrum_, size);
  FourierBuffers<double> buffers{.from = {mirrored.re.data(), mirrored.im.data()},
                                 .to = {work.re.data(), work.im.data()}};
  exact.run(plain_fourier_fns<double>(), 1, buffers);
  for (std::int64_t i = 0; i < size; ++i) {
    spectrum_.re[at(i)] = static_cast<T>(buffers.from.re[i]);
    spectrum_.im[at(i)] = static_cast<T>(buffers.from.im[i]);
  }
  inner_ = std::make_unique<const FourierPlan>(size);
}

template <class T>
std::int64_t FourierPlan<T>::work() const {
  return inner_ ? inner_->work() : length_;
}

template <class T>
std::int64_t FourierPlan<T>::bytes() const {
  std::int64_t total = turn_.bytes() + chirp_.bytes() + spectrum_.bytes();
  for (const Side& side : sides_)
    for (const Stage& stage : side.stages)
      total += static_cast<std::int64_t>((stage.roots.size() + stage.odd.size()) * sizeof(T));
  return total + (inner_ ? inner_->bytes() : 0);
}

template <class T>
void FourierPlan<T>::run_side(const Side& side, const FourierFns<T>& fns, std::int64_t lanes,
                              FourierBuffers<T>& buffers) const {
  std::int64_t run = length_ / side.length * lanes;
  for (const Stage& stage : side.stages) {
    fns.stage({.radix = stage.radix,
               .groups = stage.groups,
               .run = run,
               .roots = stage.roots.data(),
               .odd = stage.odd.data(),
               .x = buffers.source(),
               .y = buffers.to});
    buffers.swap_buffers();
    run *= stage.radix;
  }
}

template <class T>
void FourierPlan<T>::run_convolution(const FourierFns<T>& fns, std::int64_t lanes,
                                     FourierBuffers<T>& buffers) const {
  const std::int64_t size = inner_->length();
  const auto times = [&](std::int64_t count, const FourierTable<T>& factors) {
    fns.multiply({.count = count,
                  .lanes = lanes,
                  .factors = factors.parts(),
                  .x = buffers.source(),
                  .y = buffers.to});
    buffers.swap_buffers();
  };
  times(length_, chirp_);
  for (T* const part : {buffers.from.re, buffers.from.im})
    std::fill(part + length_ * lanes, part + size * lanes, T{0});
  inner_->run(fns, lanes, buffers);
  times(size, spectrum_);
  buffers.swap_parts();
  inner_->run(fns, lanes, buffers);
  buffers.swap_parts();
  times(length_, chirp_);
}

template <class T>
void FourierPlan<T>::run(const FourierFns<T>& fns, std::int64_t lanes,
                         FourierBuffers<T>& buffers) const {
  if (inner_) return run_convolution(fns, lanes, buffers);
  run_side(sides_[0], fns, lanes, buffers);
  if (sides_[0].length > 1) {
    fns.turn({.rows = sides_[0].length,
              .columns = sides_[1].length,
              .lanes = lanes,
              .factors = turn_.parts(),
              .x = buffers.source(),
              .y = buffers.to});
    buffers.swap_buffers();
  }
  run_side(sides_[1], fns, lanes, buffers);
}

template <class T>
std::int64_t FourierPlans<T>::work() const {
  return std::max(complex->work(), length + 1);
}

template <class T>
std::int64_t FourierPlans<T>::bytes() const {
  return complex->bytes() + roots.bytes();
}

template struct FourierBuffers<float>;
template struct FourierBuffers<double>;
template class FourierPlan<float>;
template class FourierPlan<double>;
template struct FourierPlans<float>;
template struct FourierPlans<double>;

}  // namespace scanloom::tensor
