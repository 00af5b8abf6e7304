// The loops that Fourier transforms are made of, as a table of functions: plain ones for the
// reference, and one set of vectors per instruction set. All compute the same bits, because each
// element goes through the same operations; products and sums are rounded separately on every
// machine. Arrays hold `lanes` independent transforms, interleaved: element i of transform l is at
// i * lanes + l. Results never overlap operands.
#pragma once

#include <cstdint>

namespace scanloom::tensor {

/// Real and imaginary parts in arrays of their own.
template <class T>
struct Parts {
  T* re;
  T* im;
};

/// One pass of a transform: element t of run p + groups j for all j below `radix` becomes element t
/// of run radix p + j (Stockham's arrangement, which leaves the result in order).
template <class T>
struct FourierStage {
  std::int64_t radix = 0;    ///< 2, 3, 4, 8, or an odd number up to kMaxRadix
  std::int64_t groups = 0;   ///< p counts up to it
  std::int64_t run = 0;      ///< adjacent elements that are treated alike
  const T* roots = nullptr;  ///< of group p > 0, at 2 (p - 1) (radix - 1): what results 1 ... are
                             ///< multiplied by, as pairs
  const T* odd = nullptr;    ///< cosines, then sines, of i / radix turns; for odd radices above 3
  Parts<const T> x{};
  Parts<T> y{};
};

inline constexpr std::int64_t kMaxRadix = 31;

/// A matrix [rows, columns, lanes] times factors [rows, columns], transposed.
template <class T>
struct FourierTurn {
  std::int64_t rows = 0, columns = 0, lanes = 1;
  Parts<const T> factors{}, x{};
  Parts<T> y{};
};

/// Element by element products of numbers [count, lanes] and factors [count].
template <class T>
struct FourierFactors {
  std::int64_t count = 0, lanes = 1;
  Parts<const T> factors{}, x{};
  Parts<T> y{};
};

/// A real signal of 2 `half` elements as `half` complex ones, and `half` + 1 elements of its
/// spectrum. roots[k] is exp(-pi i k / half).
template <class T>
struct FourierHalves {
  std::int64_t half = 0, lanes = 1;
  Parts<const T> roots{}, x{};
  Parts<T> y{};
};

template <class T>
struct FourierFns {
  void (*stage)(const FourierStage<T>&);
  void (*turn)(const FourierTurn<T>&);
  void (*multiply)(const FourierFactors<T>&);
  /// From the transform of the packed signal to its spectrum, and twice the opposite.
  void (*unpack)(const FourierHalves<T>&);
  void (*pack)(const FourierHalves<T>&);
  /// Between pairs in memory and parts; join() multiplies by `scale`.
  void (*split)(std::int64_t count, const T* pairs, Parts<T> to);
  void (*join)(std::int64_t count, Parts<const T> from, T scale, T* pairs);
};

/// The plain loops.
template <class T>
const FourierFns<T>& plain_fourier_fns();

extern template const FourierFns<float>& plain_fourier_fns<float>();
extern template const FourierFns<double>& plain_fourier_fns<double>();

}  // namespace scanloom::tensor
