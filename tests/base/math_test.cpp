#include "base/math/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

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

TEST(Math, F32WithinTheStatedBounds) {
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

TEST(Math, F64WithinTheStatedBounds) {
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
  EXPECT_LE(worst_f64([](double x) { return sin(x); }, [](long double x) { return std::sin(x); },
                      -1e3, 1e3),
            2.0);
  EXPECT_LE(worst_f64([](double x) { return cos(x); }, [](long double x) { return std::cos(x); },
                      -1e3, 1e3),
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

TEST(Exp, IsTheSameWhereOnlyNonpositiveNumbersAreAsked) {
  const ScalarDomain<float> f32;
  const ScalarDomain<double> f64;
  for (float x = 0; x > -110; x = std::nextafter(x, -1000.0F) - 1e-3F)
    ASSERT_EQ(exp_nonpositive(f32, x), exp(x)) << x;
  for (double x = 0; x > -760; x = std::nextafter(x, -1000.0) - 7e-3)
    ASSERT_EQ(exp_nonpositive(f64, x), exp(x)) << x;
  EXPECT_EQ(exp_nonpositive(f32, -std::numeric_limits<float>::infinity()), 0);
  EXPECT_TRUE(std::isnan(exp_nonpositive(f32, std::numeric_limits<float>::quiet_NaN())));
}

TEST(Math, InversesAndHyperbolicsWithinTheStatedBounds) {
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

// Near the zeros of sin and cos the reduction's absolute error shows: 2 ulp of 2^-9 are allowed
// there.
TEST(Math, TrigonometryF32) {
  for (std::uint32_t i = 0; i < 2'000'000; ++i) {
    const float x = static_cast<float>(i) * 0.00409f - 4096.0f;
    const long double sine = std::sin(static_cast<long double>(x));
    const long double cosine = std::cos(static_cast<long double>(x));
    const float scale = 2 * std::numeric_limits<float>::epsilon();
    ASSERT_NEAR(sin(x), sine, std::max(std::fabs(sine), 0x1p-9L) * scale) << x;
    ASSERT_NEAR(cos(x), cosine, std::max(std::fabs(cosine), 0x1p-9L) * scale) << x;
  }
  for (const float x : {1e6f, -3e7f, 1e20f, kMax32}) {
    EXPECT_LE(std::fabs(sin(x)), 1.0f);
    EXPECT_LE(std::fabs(cos(x)), 1.0f);
  }
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

TEST(Math, SpecialValues) {
  check_special_values<float>();
  check_special_values<double>();
}

TEST(Math, Pow) {
  EXPECT_EQ(pow(0.0f, 0.0f), 1.0f);
  EXPECT_EQ(pow(-2.0f, 3.0f), -8.0f);
  EXPECT_TRUE(std::isnan(pow(-2.0f, 0.5f)));
  EXPECT_EQ(pow(2.0, -2.0), 0.25);
}

}  // namespace
}  // namespace scanloom::math
