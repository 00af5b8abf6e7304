// Plans of discrete Fourier transforms: for one length, which passes, and the factors of each. The
// plan fixes the order of all operations, so every way of running it gives the same bits.
//
// A length n with small prime factors is split into n = rows * columns, both near the square root:
// transforms of the columns, products with roots of unity while the matrix is transposed, and
// transforms of what were the rows (Bailey, FFTs in external or hierarchical memory, 1990). Each
// is a series of passes of radix 2 to 8, or an odd prime. Other lengths are convolutions
// (Bluestein, A linear filtering approach to the computation of discrete Fourier transform, 1970).
// A real signal of even length is packed into a complex one of half the length.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "opmath/fourier_fns.h"

namespace scanloom::tensor {

/// The greatest length of a transform. A plan takes about as much memory as two results.
inline constexpr std::int64_t kMaxFourierLength = std::int64_t{1} << 24;

/// Arrays of real and imaginary parts that a plan keeps.
template <class T>
struct FourierTable {
  std::vector<T> re, im;

  [[nodiscard]] Parts<const T> parts() const { return {re.data(), im.data()}; }
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>((re.size() + im.size()) * sizeof(T));
  }
};

/// Two pairs of arrays: a pass reads `from` and writes `to`.
template <class T>
struct FourierBuffers {
  Parts<T> from{}, to{};

  [[nodiscard]] Parts<const T> source() const { return {from.re, from.im}; }
  void swap_buffers();
  /// Exchanges real and imaginary parts, which turns a transform into its inverse.
  void swap_parts();
};

/// A complex transform of one length. Immutable.
template <class T>
class FourierPlan {
 public:
  /// Precondition: 1 <= length <= 2 kMaxFourierLength.
  explicit FourierPlan(std::int64_t length);

  [[nodiscard]] std::int64_t length() const { return length_; }
  /// The elements per lane of each array of the buffers.
  [[nodiscard]] std::int64_t work() const;
  [[nodiscard]] std::int64_t bytes() const;
  /// Transforms `lanes` signals in buffers.from, where the result is, too.
  void run(const FourierFns<T>& fns, std::int64_t lanes, FourierBuffers<T>& buffers) const;

 private:
  struct Stage {
    std::int64_t radix, groups;
    std::vector<T> roots, odd;
  };
  struct Side {
    std::int64_t length = 1;
    std::vector<Stage> stages;
  };

  void plan_sides();
  void plan_convolution();
  void run_side(const Side& side, const FourierFns<T>& fns, std::int64_t lanes,
                FourierBuffers<T>& buffers) const;
  void run_convolution(const FourierFns<T>& fns, std::int64_t lanes,
                       FourierBuffers<T>& buffers) const;

  std::int64_t length_;
  std::array<Side, 2> sides_;  ///< of the columns, of the rows; the first may have length 1
  FourierTable<T> turn_;       ///< [columns, rows]

  /// For lengths with a large prime factor, a longer transform; see Bluestein.
  std::unique_ptr<const FourierPlan> inner_;
  FourierTable<T> chirp_, spectrum_;
};

/// The plan of one length for complex signals, and that of its half for real ones.
template <class T>
struct FourierPlans {
  std::int64_t length = 0;
  /// The plan of `length`, or of half of it for a real signal of even length.
  std::unique_ptr<const FourierPlan<T>> complex;
  FourierTable<T> roots;  ///< for packing a real signal; empty if it is not

  [[nodiscard]] bool is_packed() const { return !roots.re.empty(); }
  [[nodiscard]] std::int64_t work() const;
  [[nodiscard]] std::int64_t bytes() const;
};

/// Returns the plans of a length, from a cache of the most recently used ones that all threads
/// share. Precondition: 1 <= length <= kMaxFourierLength. Throws bad_alloc.
template <class T>
std::shared_ptr<const FourierPlans<T>> fourier_plans(std::int64_t length, bool real);

extern template struct FourierBuffers<float>;
extern template struct FourierBuffers<double>;
extern template class FourierPlan<float>;
extern template class FourierPlan<double>;
extern template struct FourierPlans<float>;
extern template struct FourierPlans<double>;
extern template std::shared_ptr<const FourierPlans<float>> fourier_plans<float>(std::int64_t, bool);
extern template std::shared_ptr<const FourierPlans<double>> fourier_plans<double>(std::int64_t,
                                                                                  bool);

}  // namespace scanloom::tensor
