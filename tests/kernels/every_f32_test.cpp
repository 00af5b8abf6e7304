// The functions of base/math on float32: scalar code against the C library's f64, which is exact
// enough, and the vectors of every instruction set against scalar code, to the bit. Over a sample
// of all bit patterns, or over all 2^32 of them with SCANLOOM_F32_STRIDE=1, which takes minutes per
// function (docs/checks.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/cpu.h"
#include "base/math/math.h"
#include "kernels/simd.h"

namespace scanloom::kernels {
namespace {

using tensor::ScalarOp;

double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double exact_softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

/// Tangent as every front-end writes it.
float quotient_tan(float x) { return math::sin(x) / math::cos(x); }

struct Function {
  const char* name;
  std::optional<ScalarOp> op;  ///< none: it is written with others
  float (*scalar)(float);
  double (*exact)(double);
  double ulps;
};

constexpr double (*of_f64(double (*function)(double)))(double) { return function; }

const Function kFunctions[] = {
    {"exp", ScalarOp::exp, math::exp<float>, of_f64(std::exp), 1.1},
    {"expm1", ScalarOp::expm1, math::expm1<float>, of_f64(std::expm1), 2.3},
    {"log", ScalarOp::log, math::log<float>, of_f64(std::log), 1},
    {"log1p", ScalarOp::log1p, math::log1p<float>, of_f64(std::log1p), 2},
    {"tanh", ScalarOp::tanh, math::tanh<float>, of_f64(std::tanh), 3},
    {"sigmoid", ScalarOp::sigmoid, math::sigmoid<float>, exact_sigmoid, 3},
    {"softplus", ScalarOp::softplus, math::softplus<float>, exact_softplus, 3},
    {"sin", ScalarOp::sin, math::sin<float>, of_f64(std::sin), 1},
    {"cos", ScalarOp::cos, math::cos<float>, of_f64(std::cos), 1},
    {"tan", std::nullopt, quotient_tan, of_f64(std::tan), 3},
    {"asin", ScalarOp::asin, math::asin<float>, of_f64(std::asin), 2.5},
    {"acos", ScalarOp::acos, math::acos<float>, of_f64(std::acos), 1.5},
    {"atan", ScalarOp::atan, math::atan<float>, of_f64(std::atan), 1},
    {"sinh", ScalarOp::sinh, math::sinh<float>, of_f64(std::sinh), 2.5},
    {"cosh", ScalarOp::cosh, math::cosh<float>, of_f64(std::cosh), 1.5},
    {"asinh", ScalarOp::asinh, math::asinh<float>, of_f64(std::asinh), 2.5},
    {"acosh", ScalarOp::acosh, math::acosh<float>, of_f64(std::acosh), 2.5},
    {"atanh", ScalarOp::atanh, math::atanh<float>, of_f64(std::atanh), 2.5},
    {"erf", ScalarOp::erf, math::erf<float>, of_f64(std::erf), 2},
};

/// Distance from the exact value in units of the last place of its rounded value. Correctly rounded
/// results count as 0.5.
double ulps(float result, double exact) {
  const float rounded = static_cast<float>(exact);
  if (std::bit_cast<std::uint32_t>(result) == std::bit_cast<std::uint32_t>(rounded)) return 0.5;
  if (std::isnan(result) && std::isnan(rounded)) return 0.5;
  if (std::isnan(result) || std::isnan(rounded)) return 1e9;
  constexpr double kBeyond = 0x1p128;  // stands for infinity, as one more step of the same size
  const auto finite = [](float x) { return std::isinf(x) ? std::copysign(kBeyond, x) : double{x}; };
  const double largest = std::clamp(exact, -kBeyond, kBeyond);
  const float at = std::isinf(rounded) ? std::numeric_limits<float>::max() : rounded;
  int exponent = 0;
  std::frexp(at, &exponent);
  const int place = std::max(at == 0 ? -149 : exponent - 24, -149);
  const double distance = std::fabs(finite(result) - largest) / std::ldexp(1.0, place);
  // A zero of the wrong sign is not near.
  return result == rounded ? 1e9 : distance;
}

constexpr std::size_t kBlock = 4096;
using Block = std::array<float, kBlock>;

struct Worst {
  double ulps = 0;
  float at = 0;
};

bool same_element(const Block& a, const Block& b, std::size_t i) {
  return std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i]) ||
         (std::isnan(a[i]) && std::isnan(b[i]));
}

std::uint64_t stride() {
  const char* const text = std::getenv("SCANLOOM_F32_STRIDE");
  return text == nullptr ? 4099 : std::max<std::uint64_t>(std::strtoull(text, nullptr, 10), 1);
}

class EveryF32 : public ::testing::TestWithParam<Function> {
 protected:
  void SetUp() override {
    for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::neon}) {
      mask_isa_for_test(isa);
      if (active_isa() == isa) isas_.push_back(isa);
    }
  }
  ~EveryF32() override { mask_isa_for_test(best_); }

  /// One instruction set of each kind of rounding: the least and the best.
  [[nodiscard]] std::vector<Isa> kinds() const {
    if (fuses(isas_.front()) == fuses(best_)) return {best_};
    return {isas_.front(), best_};
  }

  /// Vectors of every instruction set that rounds as the active one give what `wanted` holds.
  void check_vectors(const Block& x, const Block& wanted) const {
    if (!GetParam().op) return;
    Block got;
    for (const Isa isa : isas_) {
      if (fuses(isa) != has_fma()) continue;
      simd_tables(isa)
          .f32_elements(*GetParam().op)
          .columns(reinterpret_cast<std::byte*>(got.data()),
                   reinterpret_cast<const std::byte*>(x.data()), nullptr, nullptr, kBlock);
      for (std::size_t i = 0; i < kBlock; ++i)
        ASSERT_TRUE(same_element(got, wanted, i))
            << fmt::format("{}({:a}), {}: {:a}, scalar {:a}", GetParam().name, x[i], isa_name(isa),
                           got[i], wanted[i]);
    }
  }

  const Isa best_ = active_isa();
  std::vector<Isa> isas_;
};

TEST_P(EveryF32, IsWithinTheStatedBoundAndTheSameInVectors) {
  const Function& function = GetParam();
  const std::uint64_t step = stride();
  Worst worst;
  Block x, y;
  std::array<double, kBlock> exact{};
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32;) {
    for (float& number : x) {
      number = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      bits += step;
    }
    std::ranges::transform(x, exact.begin(), function.exact);
    for (const Isa isa : kinds()) {
      mask_isa_for_test(isa);
      std::ranges::transform(x, y.begin(), function.scalar);
      for (std::size_t i = 0; i < kBlock; ++i)
        if (const double error = ulps(y[i], exact[i]); error > worst.ulps) worst = {error, x[i]};
      check_vectors(x, y);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_LE(worst.ulps, function.ulps) << fmt::format("at {:a}", worst.at);
  RecordProperty("ulps", fmt::format("{:.3f} at {:a}", worst.ulps, worst.at));
  if (step == 1) fmt::print("{}: {:.3f} ulp at {:a}\n", function.name, worst.ulps, worst.at);
}

INSTANTIATE_TEST_SUITE_P(Functions, EveryF32, ::testing::ValuesIn(kFunctions),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace scanloom::kernels
