#include "base/dot.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "base/cpu.h"

namespace scanloom {
namespace {

template <class T>
std::vector<T> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<T> distribution(-1, 1);
  std::vector<T> numbers(count);
  for (T& number : numbers) number = distribution(generator);
  return numbers;
}

/// Runs a check with and without one rounding per step, as far as the machine has both.
template <class Check>
void with_each_rounding(Check check) {
  const Isa best = active_isa();
  check(has_fma());
  mask_isa_for_test(Isa::baseline);
  check(has_fma());
  mask_isa_for_test(best);
}

template <class T>
T expected_dot(const T* a, std::int64_t stride_a, const T* b, std::int64_t stride_b, std::int64_t n,
               T sum, bool fused) {
  for (std::int64_t k = 0; k < n; ++k) {
    const T x = a[k * stride_a];
    const T y = b[k * stride_b];
    const volatile T product = x * y;
    sum = fused ? std::fma(x, y, sum) : product + sum;
  }
  return sum;
}

template <class T>
class Dot : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Dot, Floats);

// (1 + e)^2 - (1 + 2 e) is e^2 with one rounding and 0 with two, e^2 being half a unit of 1 + 2 e.
TYPED_TEST(Dot, MultiplyAddRoundsAsTheInstructionSetDoes) {
  using T = TypeParam;
  const T e = sizeof(T) == 4 ? T(0x1p-12) : T(0x1p-27);
  with_each_rounding([&](bool fused) {
    EXPECT_EQ(multiply_add(1 + e, 1 + e, -(1 + 2 * e)), fused ? e * e : T(0));
    const T a = 1 + e;
    EXPECT_EQ(dot_in_order(&a, 1, &a, 1, 1, -(1 + 2 * e)), fused ? e * e : T(0));
  });
}

TYPED_TEST(Dot, SumsInOrder) {
  using T = TypeParam;
  const T big = sizeof(T) == 4 ? T(0x1p25) : T(0x1p54);
  const T ones[] = {1, 1, 1};
  const T lost[] = {big, 1, -big};
  const T kept[] = {big, -big, 1};
  with_each_rounding([&](bool) {
    EXPECT_EQ(dot_in_order(lost, 1, ones, 1, 3, T(0)), T(0));
    EXPECT_EQ(dot_in_order(kept, 1, ones, 1, 3, T(0)), T(1));
  });
}

TYPED_TEST(Dot, NothingToAddGivesTheStart) {
  using T = TypeParam;
  EXPECT_EQ(
      dot_in_order(static_cast<const T*>(nullptr), 1, static_cast<const T*>(nullptr), 1, 0, T(2.5)),
      T(2.5));
  EXPECT_TRUE(std::signbit(dot_in_order(static_cast<const T*>(nullptr), 1,
                                        static_cast<const T*>(nullptr), 1, 0, T(-0.0))));
}

TYPED_TEST(Dot, StridesOfAnySign) {
  using T = TypeParam;
  const std::vector<T> a = random_numbers<T>(400, 1);
  const std::vector<T> b = random_numbers<T>(400, 2);
  const T* const middle_a = a.data() + 200;
  const T* const middle_b = b.data() + 200;
  with_each_rounding([&](bool fused) {
    for (const std::int64_t n : {1, 2, 7, 16, 65})
      for (const std::int64_t stride_a : {-3, -1, 0, 1, 2})
        for (const std::int64_t stride_b : {-2, 0, 1, 3})
          EXPECT_EQ(dot_in_order(middle_a, stride_a, middle_b, stride_b, n, T(0.25)),
                    expected_dot(middle_a, stride_a, middle_b, stride_b, n, T(0.25), fused))
              << n << " steps, strides " << stride_a << " and " << stride_b;
  });
}

TYPED_TEST(Dot, IsAChainOfMultiplyAdds) {
  using T = TypeParam;
  const std::vector<T> a = random_numbers<T>(97, 3);
  const std::vector<T> b = random_numbers<T>(97, 4);
  with_each_rounding([&](bool) {
    T sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) sum = multiply_add(a[k], b[k], sum);
    EXPECT_EQ(dot_in_order(a.data(), 1, b.data(), 1, 97, T(0)), sum);
  });
}

}  // namespace
}  // namespace scanloom
