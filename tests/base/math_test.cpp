#include "base/math/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "base/cpu.h"
#include "base/math/exp.h"
#include "base/math/scalar_domain.h"

namespace scanloom::math {
namespace {

/// Distance of a result from the exact value, in units of the exact value's last place.
template <class T>
double ulps(T result, long double exact) {
  if (std::isnan(result) || std::isnan(exact))
    return std::isnan(result) && std::isnan(exact) ? 0 : 1e9;
  const T rounded = static_cast<T>(exact);
  if (result == rounded) return 0;
  if (std::isinf(rounded) || std::isinf(result)) {
    const T other = std::isinf(rounded) ? result : rounded;
    return std::fabs(other) > std::numeric_limits<T>::max() * T(0.999999) ? 0.5 : 1e9;
  }
  int exponent = 0;
  std::frexp(rounded, &exponent);
  const int lowest = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
  const int place = std::max(exponent - std::numeric_limits<T>::digits, lowest);
  return static_cast<double>(std::fabs(static_cast<long double>(result) - exact) /
                             std::ldexp(1.0L, place));
}

template <class F, class G>
double worst_f32(F function, G exact, float from, float to, std::uint32_t stride = 997) {
  double worst = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += stride) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!(x >= from && x <= to)) continue;
    worst = std::max(worst, ulps(function(x), exact(static_cast<long double>(x))));
  }
  return worst;
}

template <class F, class G>
double worst_f64(F function, G exact, double from, double to) {
  double worst = 0;
  for (int i = 0; i <= 200'000; ++i) {
    const double x = from + (to - from) * i / 200'000.0;
    worst = std::max(worst, ulps(function(x), exact(static_cast<long double>(x))));
  }
  return worst;
}

long double exact_sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double exact_softplus(long double x) {
  return std::max(x, 0.0L) + std::log1p(std::exp(-std::fabs(x)));
}

constexpr float kMax32 = std::numeric_limits<float>::max();

/// Runs each test with and without fused multiply-add, as far as this machine supports both.
class Math : public testing::TestWithParam<bool> {
 protected:
  Math() {
    if (!GetParam()) mask_isa_for_test(Isa::baseline);
  }
  ~Math() override { mask_isa_for_test(best_); }

 private:
  const Isa best_ = active_isa();
};

INSTANTIATE_TEST_SUITE_P(, Math, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Best" : "Baseline");
});

TEST_P(Math, F32WithinTheStatedBounds) {
  EXPECT_LE(worst_f32([](float x) { return exp(x); }, [](long double x) { return std::exp(x); },
                      -110, 95),
            1.1);
  EXPECT_LE(worst_f32([](float x) { return log(x); }, [](long double x) { return std::log(x); }, 0,
                      kMax32),
            1.0);
  EXPECT_LE(worst_f32([](float x) { return tanh(x); }, [](long double x) { return std::tanh(x); },
                      -kMax32, kMax32),
            3.0);
  EXPECT_LE(worst_f32([](float x) { return sigmoid(x); }, exact_sigmoid, -110, 110), 3.0);
  EXPECT_LE(worst_f32([](float x) { return softplus(x); }, exact_softplus, -110, 110), 3.0);
  EXPECT_LE(worst_f32([](float x) { return erf(x); }, [](long double x) { return std::erf(x); },
                      -kMax32, kMax32),
            2.0);
}

TEST_P(Math, F64WithinTheStatedBounds) {
  EXPECT_LE(worst_f64([](double x) { return exp(x); }, [](long double x) { return std::exp(x); },
                      -745, 709),
            1.1);
  EXPECT_LE(worst_f64([](double x) { return log(x); }, [](long double x) { return std::log(x); },
                      1e-300, 8),
            1.0);
  EXPECT_LE(worst_f64([](double x) { return tanh(x); }, [](long double x) { return std::tanh(x); },
                      -25, 25),
            3.0);
  EXPECT_LE(worst_f64([](double x) { return sigmoid(x); }, exact_sigmoid, -700, 700), 3.0);
  EXPECT_LE(worst_f64([](double x) { return softplus(x); }, exact_softplus, -700, 700), 3.0);
  EXPECT_LE(
      worst_f64([](double x) { return erf(x); }, [](long double x) { return std::erf(x); }, -7, 7),
      2.0);
}

template <class T>
double worst(T (*function)(T), long double (*exact)(long double), double from, double to) {
  if constexpr (std::is_same_v<T, float>)
    return worst_f32(function, exact, static_cast<float>(from), static_cast<float>(to));
  else
    return worst_f64(function, exact, from, to);
}

struct Bounded {
  const char* name;
  float (*f32)(float);
  double (*f64)(double);
  long double (*exact)(long double);
  double from, to;  ///< of f64, in equal steps; f32 is looked at everywhere between
  double ulps;
};

template <class T, bool kFuses>
void expect_same_below_zero() {
  const ScalarDomain<T, kFuses> m;
  constexpr bool kShort = sizeof(T) == 4;
  for (T x = 0; x > T(kShort ? -110 : -760);
       x = std::nextafter(x, T(-1000)) - T(kShort ? 1e-3 : 7e-3))
    ASSERT_EQ(exp_nonpositive(m, x), exp(m, x)) << x;
  EXPECT_EQ(exp_nonpositive(m, -std::numeric_limits<T>::infinity()), 0);
  EXPECT_TRUE(std::isnan(exp_nonpositive(m, std::numeric_limits<T>::quiet_NaN())));
}

TEST(Exp, IsTheSameWhereOnlyNonpositiveNumbersAreAsked) {
  expect_same_below_zero<float, false>();
  expect_same_below_zero<float, true>();
  expect_same_below_zero<double, false>();
  expect_same_below_zero<double, true>();
}

TEST_P(Math, InversesAndHyperbolicsWithinTheStatedBounds) {
  const Bounded functions[] = {
      {"asin", &asin<float>, &asin<double>, &std::asin, -1, 1, 2.5},
      {"acos", &acos<float>, &acos<double>, &std::acos, -1, 1, 1.5},
      {"atan", &atan<float>, &atan<double>, &std::atan, -20, 20, 1},
      {"sinh", &sinh<float>, &sinh<double>, &std::sinh, -95, 95, 2.5},
      {"cosh", &cosh<float>, &cosh<double>, &std::cosh, -95, 95, 1.5},
      {"asinh", &asinh<float>, &asinh<double>, &std::asinh, -20, 20, 2.5},
      {"acosh", &acosh<float>, &acosh<double>, &std::acosh, 1, 20, 2.5},
      {"atanh", &atanh<float>, &atanh<double>, &std::atanh, -1, 1, 2.5},
      {"expm1", &expm1<float>, &expm1<double>, &std::expm1, -95, 95, 2.3},
      {"log1p", &log1p<float>, &log1p<double>, &std::log1p, -1, 40, 2},
  };
  for (const Bounded& f : functions) {
    EXPECT_LE(worst<float>(f.f32, f.exact, f.from, f.to), f.ulps) << f.name;
    EXPECT_LE(worst<double>(f.f64, f.exact, f.from, f.to), f.ulps) << f.name;
    EXPECT_LE(worst<double>(f.f64, f.exact, f.from / 40, f.to / 40), f.ulps) << f.name;
  }
  // Where squares and exponentials overflow.
  EXPECT_LE(worst<float>(&asinh<float>, &std::asinh, -kMax32, kMax32), 2.5);
  EXPECT_LE(worst<float>(&acosh<float>, &std::acosh, 1, kMax32), 2.5);
  EXPECT_LE(worst<float>(&atan<float>, &std::atan, -kMax32, kMax32), 1.0);
  EXPECT_LE(worst<double>(&sinh<double>, &std::sinh, -712, 712), 2.5);
  EXPECT_LE(worst<double>(&cosh<double>, &std::cosh, -712, 712), 1.5);
  EXPECT_LE(worst<double>(&expm1<double>, &std::expm1, -745, 712), 2.3);
  EXPECT_LE(worst<double>(&expm1<double>, &std::expm1, -1e-15, 1e-15), 2.3);
  EXPECT_LE(worst<float>(&log1p<float>, &std::log1p, -1, kMax32), 2);
  EXPECT_LE(worst<double>(&log1p<double>, &std::log1p, 1, 1e300), 2);
  EXPECT_LE(worst<double>(&log1p<double>, &std::log1p, -1e-15, 1e-15), 2);
  EXPECT_LE(worst<double>(&asinh<double>, &std::asinh, -1e300, 1e300), 2.5);
  EXPECT_LE(worst<double>(&acosh<double>, &std::acosh, 1, 1e300), 2.5);
}

TEST_P(Math, TrigonometryF32AllOverTheRange) {
  EXPECT_LE(worst_f32([](float x) { return sin(x); }, [](long double x) { return std::sin(x); },
                      -kMax32, kMax32),
            1.0);
  EXPECT_LE(worst_f32([](float x) { return cos(x); }, [](long double x) { return std::cos(x); },
                      -kMax32, kMax32),
            1.0);
}

void expect_near_angle(double x) {
  for (const double angle : {x, -x}) {
    const auto exact = static_cast<long double>(angle);
    ASSERT_LE(ulps(sin(angle), std::sin(exact)), 1) << "sin " << angle;
    ASSERT_LE(ulps(cos(angle), std::cos(exact)), 1) << "cos " << angle;
  }
}

// Random bits are numbers of every size; the ends of the quick reduction, and what is next to them.
TEST_P(Math, TrigonometryF64AllOverTheRange) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 200'000; ++i) {
    const auto x = std::bit_cast<double>(random());
    if (std::isfinite(x)) expect_near_angle(x);
  }
  for (int i = 0; i <= 200'000; ++i) expect_near_angle(i * 0.7000001);
  for (const double x : {12'800.0, 131'072.0, std::numeric_limits<double>::max()})
    for (const double y : {std::nextafter(x, 0), x, std::nextafter(x, 1e9)}) expect_near_angle(y);
}

// Every multiple of pi / 2 that the quick reduction covers, and both neighbouring numbers.
TEST_P(Math, TrigonometryF64NearItsZeros) {
  constexpr long double kHalfPi = 1.570796326794896619231321691639751442L;
  for (int n = 1; n < 83'500; ++n) {
    const auto x = static_cast<double>(n * kHalfPi);
    for (const double near : {std::nextafter(x, 0), x, std::nextafter(x, 1e9)})
      expect_near_angle(near);
  }
}

struct HardAngle {
  double x;
  long double sine, cosine;
};

/// The numbers that are nearest to a multiple of pi / 2, found by continued fractions for every
/// exponent; values computed in 1,400 bits.
constexpr HardAngle kHardF64[] = {
    {0x1.6ac5b262ca1ffp+849, 1.0L, -4.687165924254627611123e-19L},
    {0x1.6c6cbc45dc8dep+5, 1.0L, -6.189806365883577000151e-19L},
    {0x1.6ac5b262ca1ffp+850, -9.374331848509255222245e-19L, -1.0L},
    {0x1.6c6cbc45dc8dep+6, -1.23796127317671540003e-18L, -1.0L},
    {0x1.b951f1572eba5p+23, -1.0L, -1.698503829898600379462e-18L},
    {0x1.504cac51f1eafp+131, -1.0L, -1.820856637738217289305e-18L},
    {0x1.6ac5b262ca1ffp+851, 1.874866369701851044449e-18L, 1.0L},
    {0x1.e009c53148be1p+991, 1.0L, 2.014938667495223884095e-18L},
    {0x1.6c6cbc45dc8dep+7, 2.47592254635343080006e-18L, 1.0L},
    {0x1.4c96c11134d36p+577, -1.0L, 2.485366287618534701756e-18L},
};
constexpr HardAngle kHardF32[] = {
    {0x1.f37c8ap+95, 0.9999999999999999986963L, -1.614769798247621187604e-9L},
    {0x1.47d0fep+34, 0.9999999999999999979746L, -2.01264603191855257286e-9L},
    {0x1.f37c8ap+96, -3.229539596495242370997e-9L, -0.999999999999999994785L},
    {0x1.47d0fep+35, -4.025292063837105137567e-9L, -0.9999999999999999918985L},
    {0x1.f9cbe2p+7, 0.9999999999999999912399L, -4.185706803757207633778e-9L},
    {0x1.f37c8ap+97, 6.459079192990484708309e-9L, 0.9999999999999999791401L},
    {0x1.32ede2p+85, 0.9999999999999999790834L, -6.467856984570354832771e-9L},
    {0x1.628d4cp+40, -0.999999999999999976082L, -6.916359710572901394582e-9L},
    {0x1.1309300p+76, 0.9999999999999999731182L, -7.332363136854398487267e-9L},
    {0x1.47d0fep+36, 8.050584127674210209913e-9L, 0.999999999999999967594L},
};

TEST_P(Math, TrigonometryOfTheHardestAngles) {
  for (const auto& [x, sine, cosine] : kHardF64) {
    EXPECT_LE(ulps(sin(x), sine), 1) << x;
    EXPECT_LE(ulps(sin(-x), -sine), 1) << x;
    EXPECT_LE(ulps(cos(x), cosine), 1) << x;
    EXPECT_LE(ulps(cos(-x), cosine), 1) << x;
  }
  for (const auto& [x, sine, cosine] : kHardF32) {
    EXPECT_LE(ulps(sin(static_cast<float>(x)), sine), 1) << x;
    EXPECT_LE(ulps(sin(static_cast<float>(-x)), -sine), 1) << x;
    EXPECT_LE(ulps(cos(static_cast<float>(x)), cosine), 1) << x;
  }
  // Arguments for which the Cody-Waite reduction alone is wrong by many ulp.
  for (const float x : {146161.812f, 9849526.0f, 1e6f, -3e7f, 1e20f, kMax32})
    EXPECT_LE(ulps(sin(x), std::sin(static_cast<long double>(x))), 1) << x;
}

template <class T>
void check_special_values() {
  const T infinity = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const auto function : {&exp<T>, &log<T>, &tanh<T>, &sigmoid<T>, &softplus<T>, &sin<T>,
                              &cos<T>, &erf<T>, &asin<T>, &acos<T>, &atan<T>, &sinh<T>, &cosh<T>,
                              &asinh<T>, &acosh<T>, &atanh<T>, &expm1<T>, &log1p<T>})
    EXPECT_TRUE(std::isnan(function(nan)));
  EXPECT_EQ(exp(infinity), infinity);
  EXPECT_EQ(exp(-infinity), T(0));
  EXPECT_EQ(exp(T(0)), T(1));
  EXPECT_EQ(log(T(0)), -infinity);
  EXPECT_EQ(log(T(-0.0)), -infinity);
  EXPECT_EQ(log(infinity), infinity);
  EXPECT_EQ(log(T(1)), T(0));
  EXPECT_TRUE(std::isnan(log(T(-1))));
  EXPECT_EQ(tanh(infinity), T(1));
  EXPECT_EQ(tanh(-infinity), T(-1));
  EXPECT_TRUE(std::signbit(tanh(T(-0.0))));
  EXPECT_EQ(sigmoid(-infinity), T(0));
  EXPECT_EQ(sigmoid(infinity), T(1));
  EXPECT_EQ(softplus(infinity), infinity);
  EXPECT_EQ(softplus(-infinity), T(0));
  EXPECT_TRUE(std::isnan(sin(infinity)));
  EXPECT_TRUE(std::isnan(cos(-infinity)));
  EXPECT_TRUE(std::signbit(sin(T(-0.0))));
  EXPECT_EQ(erf(infinity), T(1));
  EXPECT_EQ(erf(-infinity), T(-1));
  EXPECT_TRUE(std::signbit(erf(T(-0.0))));
  EXPECT_EQ(tanh(std::numeric_limits<T>::denorm_min()), std::numeric_limits<T>::denorm_min());
  for (const auto function :
       {&asin<T>, &atan<T>, &sinh<T>, &asinh<T>, &atanh<T>, &expm1<T>, &log1p<T>}) {
    EXPECT_TRUE(std::signbit(function(T(-0.0))));
    const T smallest = std::numeric_limits<T>::denorm_min();
    EXPECT_EQ(function(smallest), smallest);
  }
  for (const auto function : {&asin<T>, &acos<T>, &atanh<T>})
    for (const T x : {T(1.0001), T(-1.0001), infinity, -infinity})
      EXPECT_TRUE(std::isnan(function(x))) << x;
  for (const T x : {T(0.999), T(0), T(-1), T(-5), -infinity}) EXPECT_TRUE(std::isnan(acosh(x)));
  EXPECT_EQ(expm1(infinity), infinity);
  EXPECT_EQ(expm1(-infinity), T(-1));
  EXPECT_EQ(log1p(infinity), infinity);
  EXPECT_EQ(log1p(T(-1)), -infinity);
  for (const T x : {T(-1.0001), T(-7), -infinity}) EXPECT_TRUE(std::isnan(log1p(x))) << x;
  EXPECT_EQ(acos(T(1)), T(0));
  EXPECT_EQ(acosh(T(1)), T(0));
  EXPECT_EQ(cosh(T(0)), T(1));
  EXPECT_EQ(atanh(T(1)), infinity);
  EXPECT_EQ(atanh(T(-1)), -infinity);
  for (const auto function : {&sinh<T>, &asinh<T>}) {
    EXPECT_EQ(function(infinity), infinity);
    EXPECT_EQ(function(-infinity), -infinity);
  }
  EXPECT_EQ(cosh(-infinity), infinity);
  EXPECT_EQ(acosh(infinity), infinity);
}

TEST_P(Math, SpecialValues) {
  check_special_values<float>();
  check_special_values<double>();
}

/// The largest error of powers in pairs of several kinds, in ulp of long double's result.
template <class T>
double worst_pow() {
  std::mt19937_64 random(11);
  const auto between = [&](double from, double to) {
    return from + (to - from) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  constexpr double kLargest = sizeof(T) == 4 ? 104 : 745;  // of logarithms
  constexpr double kNear = sizeof(T) == 4 ? 0x1p-20 : 0x1p-48;
  double worst = 0;
  const auto look = [&](double base, double exponent) {
    const T x = static_cast<T>(base), y = static_cast<T>(exponent);
    if (y == 3) return;  // two products, which have a test of their own
    worst = std::max(
        worst, ulps(pow(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y))));
  };
  for (int i = 0; i < 40'000; ++i) {
    look(std::exp(between(-kLargest, 80)), between(-3, 3));
    look(between(0.3, 3), between(-kLargest, kLargest));
    look(between(-10, 10), std::round(between(-20, 20)));
    look(1 + between(-1, 1) * kNear, between(-90, 90) / kNear);
    look(std::round(between(-40, 40)), std::round(between(-20, 20)));
    const std::uint64_t bits = random(), more = random();
    if constexpr (sizeof(T) == 4)
      look(std::bit_cast<float>(static_cast<std::uint32_t>(bits)),
           std::bit_cast<float>(static_cast<std::uint32_t>(more)));
    else
      look(std::bit_cast<double>(bits), std::bit_cast<double>(more));
  }
  return worst;
}

TEST_P(Math, PowWithinTheStatedBounds) {
  EXPECT_LE(worst_pow<float>(), 0.501);
  EXPECT_LE(worst_pow<double>(), 0.8);
}

/// Numbers for which C states the result, and those next to the largest odd number.
template <class T>
void check_special_powers() {
  using Limits = std::numeric_limits<T>;
  const T odd = sizeof(T) == 4 ? T(0x1p24 - 1) : T(0x1p53 - 1);
  const T numbers[] = {T(0),
                       T(1),
                       T(2),
                       T(3),
                       T(0.5),
                       T(1.5),
                       T(0.3),
                       Limits::infinity(),
                       Limits::max(),
                       Limits::min(),
                       Limits::denorm_min(),
                       odd,
                       odd + 1,
                       odd / 2,
                       std::floor(odd / 2),
                       Limits::quiet_NaN()};
  for (const T size : numbers)
    for (const T x : {size, -size})
      for (const T exponent : numbers)
        for (const T y : {exponent, -exponent}) {
          const T wanted = y == 2 ? x * x : y == 3 ? x * x * x : std::pow(x, y), got = pow(x, y);
          ASSERT_LE(ulps(got, static_cast<long double>(wanted)), 1) << x << " to " << y;
          ASSERT_TRUE(std::isnan(got) || std::signbit(got) == std::signbit(wanted))
              << x << " to " << y;
        }
}

TEST_P(Math, SpecialPowers) {
  check_special_powers<float>();
  check_special_powers<double>();
  EXPECT_EQ(pow(0.0f, 0.0f), 1.0f);
  EXPECT_EQ(pow(-2.0f, 3.0f), -8.0f);
  EXPECT_TRUE(std::isnan(pow(-2.0f, 0.5f)));
  EXPECT_EQ(pow(2.0, -2.0), 0.25);
}

TEST_P(Math, FirstPowersAreTheNumberItself) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t bits = random();
    const auto x = std::bit_cast<double>(bits);
    if (!std::isnan(x)) {
      ASSERT_EQ(pow(x, 1.0), x);
    }
    const auto y = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!std::isnan(y)) {
      ASSERT_EQ(pow(y, 1.0f), y);
    }
  }
}

// The C library's is off by one in the last place for this one, and for one in 1,200.
TEST_P(Math, SquaresAreRoundedRight) {
  EXPECT_EQ(pow(1.7079579852470808, 2.0), 1.7079579852470808 * 1.7079579852470808);
  std::mt19937_64 random(3);
  for (int i = 0; i < 100'000; ++i) {
    const auto x = std::bit_cast<double>(random());
    if (!std::isnan(x)) {
      ASSERT_EQ(pow(x, 2.0), x * x) << x;
    }
    const auto y = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnan(y)) {
      ASSERT_EQ(pow(y, 2.0f), y * y) << y;
    }
  }
}

TEST_P(Math, CubesAreTwoProducts) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 100'000; ++i) {
    const auto x = std::bit_cast<double>(random());
    if (!std::isnan(x)) {
      ASSERT_EQ(pow(x, 3.0), x * x * x) << x;
    }
    const auto y = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnan(y)) {
      ASSERT_EQ(pow(y, 3.0f), y * y * y) << y;
    }
  }
  EXPECT_EQ(std::bit_cast<std::uint32_t>(pow(-0.0f, 3.0f)), 0x80000000U);
}

// Below 2 ulp of the C library's, which is below 1.
TEST_P(Math, CubesAreAccurate) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponents(-40, 40);
  for (int i = 0; i < 100'000; ++i) {
    const auto x = static_cast<float>(std::exp2(exponents(random)));
    const double exact = std::pow(static_cast<double>(x), 3.0);
    const double ulp = std::ldexp(1.0, std::max(std::ilogb(exact) - 23, -149));
    ASSERT_LE(std::abs(pow(x, 3.0f) - exact), 2 * ulp) << x;
  }
}

}  // namespace
}  // namespace scanloom::math
