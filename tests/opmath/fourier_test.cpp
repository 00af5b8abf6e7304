// Plans of Fourier transforms: their error, against sums in long double, and the cache.
#include "opmath/fourier_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "opmath/unit_roots.h"

namespace scanloom::tensor {
namespace {

using Exact = std::complex<long double>;

Exact exact_root(std::int64_t k, std::int64_t n) {
  const long double angle =
      -2 * std::acos(-1.0L) * static_cast<long double>(k % n) / static_cast<long double>(n);
  return {std::cos(angle), std::sin(angle)};
}

TEST(UnitRootsTest, AreCorrectlyRoundedOrNearlySo) {
  for (const std::int64_t n : {1, 2, 3, 5, 7, 8, 12, 100, 509, 4096, 65537}) {
    const UnitRoots roots(n);
    for (std::int64_t k = 0; k < n; k += 1 + n / 500) {
      // Half a unit in the last place, and the error of the long double.
      const Exact exact = exact_root(k, n), root(roots(k).re, roots(k).im);
      EXPECT_LE(std::fabs(root.real() - exact.real()), 0x1p-53L * std::fabs(root.real()) + 1e-18L)
          << k << " / " << n;
      EXPECT_LE(std::fabs(root.imag() - exact.imag()), 0x1p-53L * std::fabs(root.imag()) + 1e-18L)
          << k << " / " << n;
    }
  }
}

TEST(UnitRootsTest, AreExactOnTheAxesAndEqualOnTheDiagonals) {
  for (const std::int64_t n : {4, 8, 24, 4096, 1000000}) {
    const UnitRoots roots(n);
    EXPECT_EQ(roots(0).re, 1);
    EXPECT_EQ(roots(0).im, 0);
    EXPECT_EQ(roots(n / 4).re, 0);
    EXPECT_EQ(roots(n / 4).im, -1);
    EXPECT_EQ(roots(n / 2).re, -1);
    EXPECT_EQ(roots(n / 2).im, 0);
    if (n % 8 == 0) {
      EXPECT_EQ(roots(n / 8).re, -roots(n / 8).im);
    }
  }
}

/// The root of the mean square error over that of the results, in units of rounding errors.
template <class T>
double error_of(std::int64_t n) {
  const auto plans = fourier_plans<T>(n, false);
  const auto size = static_cast<std::size_t>(plans->work());
  std::vector<T> memory(4 * size);
  FourierBuffers<T> buffers{.from = {memory.data(), memory.data() + size},
                            .to = {memory.data() + 2 * size, memory.data() + 3 * size}};
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<Exact> x;
  for (std::int64_t i = 0; i < n; ++i) {
    buffers.from.re[i] = static_cast<T>(normal(random));
    buffers.from.im[i] = static_cast<T>(normal(random));
    x.emplace_back(buffers.from.re[i], buffers.from.im[i]);
  }
  plans->complex->run(plain_fourier_fns<T>(), 1, buffers);
  long double error = 0, total = 0;
  for (std::int64_t k = 0; k < n; k += 1 + n / 40) {
    Exact sum = 0;
    for (std::int64_t i = 0; i < n; ++i)
      sum += x[static_cast<std::size_t>(i)] * exact_root(i * k, n);
    error += std::norm(Exact(buffers.from.re[k], buffers.from.im[k]) - sum);
    total += std::norm(sum);
  }
  return static_cast<double>(std::sqrt(error / total)) /
         (static_cast<double>(std::numeric_limits<T>::epsilon()) / 2);
}

// docs/numbers.md gives these bounds.
TEST(FourierPlanTest, ErrorsGrowSlowly) {
  std::vector<std::int64_t> lengths = {144,  200,  256,  400,  441,  480,  509,  512, 961,
                                       1000, 1018, 1024, 1536, 2048, 4093, 4096, 5040};
  for (std::int64_t n = 1; n <= 130; ++n) lengths.push_back(n);
  for (const std::int64_t n : lengths) {
    EXPECT_LE(error_of<float>(n), 6) << n;
    EXPECT_LE(error_of<double>(n), 6) << n;
  }
}

TEST(FourierPlanTest, TheCacheGivesOnePlanToAllThreads) {
  const auto first = fourier_plans<float>(360, true);
  EXPECT_TRUE(first->is_packed());
  EXPECT_FALSE(fourier_plans<float>(361, true)->is_packed());
  EXPECT_NE(fourier_plans<float>(360, false), first);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (std::int64_t n = 1; n < 200; ++n) EXPECT_EQ(fourier_plans<float>(n, true)->length, n);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fourier_plans<float>(360, true), first);
}

TEST(FourierPlanTest, TheCacheForgetsWhatWasNotUsedForLong) {
  const std::weak_ptr<const FourierPlans<double>> first = fourier_plans<double>(1 << 17, false);
  EXPECT_FALSE(first.expired());
  for (std::int64_t n = (1 << 17) + 64; n < (1 << 17) + 640; n += 64)
    EXPECT_EQ(fourier_plans<double>(n, true)->length, n);
  EXPECT_TRUE(first.expired());
}

}  // namespace
}  // namespace scanloom::tensor
