#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/linear_blocks.h"
#include "opmath/linear_call.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

using tensor::LinearMap;
using tensor::LinearScan;

template <class T>
struct Recurrence {
  std::string name;
  int states = 1, inputs = 1;
  bool varies = false;
  std::vector<T> matrix, gain;

  [[nodiscard]] LinearMap<T> map() const {
    const std::vector<double> a(matrix.begin(), matrix.end()), g(gain.begin(), gain.end());
    return tensor::linear_map<T>(states, inputs, varies, a, g);
  }
};

template <class T>
std::vector<Recurrence<T>> recurrences() {
  return {
      {.name = "sum", .matrix = {1}, .gain = {1}},
      {.name = "mean", .matrix = {T(0.9)}, .gain = {T(0.1)}},
      {.name = "alternating", .matrix = {T(-0.97)}, .gain = {T(-2)}},
      {.name = "slow mean", .matrix = {T(0.9999)}, .gain = {T(0.0001)}},
      {.name = "growing", .matrix = {T(1.001)}, .gain = {1}},
      {.name = "forgetful", .matrix = {T(1e-30)}, .gain = {1}},
      {.name = "without memory", .matrix = {0}, .gain = {3}},
      {.name = "two inputs", .inputs = 2, .matrix = {T(0.5)}, .gain = {T(0.25), -3}},
      {.name = "factors", .varies = true, .matrix = {1}, .gain = {1}},
      {.name = "scaled factors", .varies = true, .matrix = {T(-0.9)}, .gain = {T(0.5)}},
      {.name = "filter", .states = 2, .matrix = {T(1.8), 1, T(-0.85), 0}, .gain = {T(0.5), T(0.2)}},
      {.name = "low filter",
       .states = 2,
       .matrix = {T(1.997), 1, T(-0.998), 0},
       .gain = {1, T(-0.4)}},
      {.name = "double pole", .states = 2, .matrix = {T(1.8), 1, T(-0.81), 0}, .gain = {1, 0}},
      {.name = "poles of both signs",
       .states = 2,
       .matrix = {T(0.5), T(0.5), 1, 0},
       .gain = {1, 0}},
      {.name = "real poles", .states = 2, .matrix = {T(1.3), T(-0.4), 1, 0}, .gain = {1, 0}},
      {.name = "two sums", .states = 2, .matrix = {1, 1, 0, 1}, .gain = {0, 1}},
      {.name = "apart",
       .states = 2,
       .inputs = 2,
       .matrix = {T(0.5), 0, 0, T(0.25)},
       .gain = {1, 0, 0, 2}},
  };
}

template <class T>
struct Line {
  std::vector<T> x, more, factor, rows[2];
  T last[2] = {};

  explicit Line(std::int64_t steps, unsigned seed = 1)
      : x(static_cast<std::size_t>(steps)), more(x.size()), factor(x.size()) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0.5, 0.99);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<T>(normal(random));
      more[i] = static_cast<T>(normal(random));
      factor[i] = static_cast<T>(uniform(random));
    }
  }

  void run(const Recurrence<T>& of, tensor::LinearBlocksFn<T> blocks, int threads = 1,
           bool before = false) {
    const LinearMap<T> map = of.map();
    LinearScan<T> scan{.map = &map, .blocks = blocks, .rows_before = before};
    scan.x[0] = x.data();
    scan.x[1] = more.data();
    scan.factor = factor.data();
    scan.steps = static_cast<std::int64_t>(x.size());
    for (int r = 0; r < of.states; ++r) {
      rows[r].assign(x.size(), T(99));
      scan.rows[r] = rows[r].data();
      scan.state[r] = T(0.5);
    }
    std::vector<tensor::LinearState> scratch(
        static_cast<std::size_t>(tensor::linear_scan_scratch(scan.steps)));
    tensor::run_linear_scan<T>(scan, threads, threads > 1 ? scratch.data() : nullptr, nullptr);
    std::copy(scan.state, scan.state + 2, last);
  }

  /// The states after each step, one after the other, in Real.
  template <class Real>
  std::vector<Real> in_order(const Recurrence<T>& of, int row) const {
    std::vector<Real> result;
    Real s[2] = {Real(0.5), Real(0.5)};
    for (std::size_t t = 0; t < x.size(); ++t) {
      Real next[2] = {};
      for (int r = 0; r < of.states; ++r) {
        const auto at = [&](const std::vector<T>& of_map, int c, int width) {
          return Real(of_map[static_cast<std::size_t>(r * width + c)]);
        };
        const auto add = [](Real& to, Real by, Real value) {
          if (by != 0) to += by * value;  // a coefficient of 0 is none
        };
        Real sum = 0;
        add(sum, at(of.gain, 0, of.inputs), Real(x[t]));
        if (of.inputs > 1) add(sum, at(of.gain, 1, of.inputs), Real(more[t]));
        for (int c = 0; c < of.states; ++c) {
          const Real a = at(of.matrix, c, of.states);
          add(sum, of.varies ? a * Real(factor[t]) : a, s[c]);
        }
        next[r] = sum;
      }
      std::copy(next, next + 2, s);
      result.push_back(s[row]);
    }
    return result;
  }
};

template <class T>
tensor::LinearBlocksFn<T> blocks_of(Isa isa) {
  if constexpr (sizeof(T) == 4)
    return linear_tables(isa).f32;
  else
    return linear_tables(isa).f64;
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
void expect_same_bits(std::int64_t steps) {
  for (const Recurrence<T>& of : recurrences<T>())
    for (const bool before : {false, true}) {
      SCOPED_TRACE(of.name + (before ? " before" : "") + ", steps " + std::to_string(steps));
      Line<T> expected(steps);
      expected.run(of, &tensor::run_linear_blocks<T>, 1, before);
      for (const Isa isa : available_isas()) {
        if (fuses(isa) != has_fma()) continue;
        SCOPED_TRACE(isa_name(isa));
        Line<T> line(steps);
        line.run(of, blocks_of<T>(isa), 1, before);
        EXPECT_TRUE(same_bytes(line.rows[0], expected.rows[0]));
        EXPECT_TRUE(same_bytes(line.rows[1], expected.rows[1]));
        EXPECT_EQ(std::memcmp(line.last, expected.last, sizeof(line.last)), 0);
      }
    }
}

TEST(LinearScan, BlocksGiveTheReferencesBitsOnEveryInstructionSet) {
  for (const std::int64_t steps : {0, 1, 7, 8, 15, 16, 17, 63, 64, 2047, 2048, 2049, 5000}) {
    expect_same_bits<float>(steps);
    expect_same_bits<double>(steps);
  }
}

template <class T>
void expect_same_on_threads() {
  for (const Recurrence<T>& of : recurrences<T>())
    for (const bool before : {false, true}) {
      SCOPED_TRACE(of.name);
      Line<T> expected(100'003);
      expected.run(of, blocks_of<T>(active_isa()), 1, before);
      for (const int threads : {2, 3, 7}) {
        SCOPED_TRACE(threads);
        Line<T> line(100'003);
        line.run(of, blocks_of<T>(active_isa()), threads, before);
        EXPECT_TRUE(same_bytes(line.rows[0], expected.rows[0]));
        EXPECT_TRUE(same_bytes(line.rows[1], expected.rows[1]));
        EXPECT_EQ(std::memcmp(line.last, expected.last, sizeof(line.last)), 0);
      }
    }
}

TEST(LinearScan, AnyNumberOfThreadsGivesTheSameBits) {
  expect_same_on_threads<float>();
  expect_same_on_threads<double>();
}

/// The root mean square of the errors; infinite if one is not finite.
template <class T, class Real>
double error_of(const std::vector<T>& rows, const std::vector<Real>& exact) {
  long double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const long double error = static_cast<long double>(rows[i]) - exact[i];
    sum += error * error;
  }
  return static_cast<double>(std::sqrt(sum / static_cast<long double>(rows.size())));
}

/// The largest state that the line would have if nothing cancelled.
template <class T>
double largest_magnitude(const Line<T>& line, const Recurrence<T>& of, int row) {
  Line<T> sizes = line;
  Recurrence<T> sums = of;
  for (auto* numbers : {&sizes.x, &sizes.more, &sizes.factor, &sums.matrix, &sums.gain})
    for (T& number : *numbers) number = std::fabs(number);
  long double largest = 0;
  for (const long double state : sizes.template in_order<long double>(sums, row))
    largest = std::max(largest, state);
  return static_cast<double>(largest);
}

/// Compares errors with those of the steps in order, which may be less than a rounding of the
/// largest state. If inputs `cancel`, roundings of their sizes count.
template <class T>
void expect_accurate(const Line<T>& line, const Recurrence<T>& of, bool cancel) {
  constexpr auto kRounding = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  for (int r = 0; r < of.states; ++r) {
    const std::vector<long double> exact = line.template in_order<long double>(of, r);
    const double in_order = error_of(line.template in_order<T>(of, r), exact);
    double largest = 0;
    for (const long double state : exact)
      largest = std::max(largest, std::fabs(static_cast<double>(state)));
    double bound = 2 * std::max(in_order, kRounding * largest);
    if (cancel) bound = std::max(bound, 8 * kRounding * largest_magnitude(line, of, r));
    EXPECT_LE(error_of(line.rows[r], exact), bound)
        << of.name << ", state " << r << ", in order " << in_order;
  }
}

template <class T>
void expect_accurate_lines(const Recurrence<T>& of) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    Line<T> line(20'000, seed);
    line.run(of, blocks_of<T>(active_isa()));
    expect_accurate(line, of, false);
  }
  // Values that cancel, first neighbours, then halves of the line; and values of very different
  // sizes.
  for (const std::int64_t apart : {1, 2, 3, 16, 1000}) {
    Line<T> line(20'000);
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      const bool negative = static_cast<std::int64_t>(i) / apart % 2 != 0;
      line.x[i] += static_cast<T>(negative ? -1e4 : 1e4);
    }
    line.run(of, blocks_of<T>(active_isa()));
    expect_accurate(line, of, true);
  }
  Line<T> line(20'000);
  for (std::size_t i = 0; i < line.x.size(); ++i)
    line.x[i] *= static_cast<T>(std::pow(10.0, static_cast<double>(i % 9) - 4));
  line.run(of, blocks_of<T>(active_isa()));
  expect_accurate(line, of, true);
}

TEST(LinearScan, ErrorsAreAtMostTwiceThoseOfStepsInOrder) {
  for (const Recurrence<float>& of : recurrences<float>()) expect_accurate_lines(of);
  for (const Recurrence<double>& of : recurrences<double>()) expect_accurate_lines(of);
}

// Infinities reach all later states and no earlier one, although powers of 1e-30 are 0.
TEST(LinearScan, InfinitiesReachTheStatesThatTheyReachInOrder) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Recurrence<float>& of : recurrences<float>()) {
    SCOPED_TRACE(of.name);
    for (const std::size_t at : {0u, 5u, 4095u, 4096u, 9000u}) {
      Line<float> line(10'000);
      line.x[at] = kInfinity;
      for (const int threads : {1, 3}) {
        line.run(of, blocks_of<float>(active_isa()), threads);
        for (int r = 0; r < of.states; ++r) {
          const std::vector<float> expected = line.in_order<float>(of, r);
          for (std::size_t t = 0; t < expected.size(); ++t) {
            ASSERT_EQ(std::isfinite(line.rows[r][t]), std::isfinite(expected[t])) << t;
            if (std::isinf(expected[t])) {
              ASSERT_EQ(line.rows[r][t], expected[t]) << t;
            }
          }
        }
      }
    }
  }
}

// The sum of a block overflows in a tree where it does not in order.
TEST(LinearScan, SumsThatOnlyATreeOverflows) {
  const Recurrence<float> sum{.name = "sum", .matrix = {1}, .gain = {1}};
  Line<float> line(64);
  std::ranges::fill(line.x, 0.0F);
  line.x[0] = -3e38F;
  line.x[2] = line.x[3] = 3e38F;
  line.run(sum, blocks_of<float>(active_isa()));
  EXPECT_EQ(line.rows[0], line.in_order<float>(sum, 0));
}

TEST(LinearScan, RunsAsAKernelOnStridedOperands) {
  for (const Layout layout : {Layout::contiguous, Layout::gapped}) {
    Buffer x(DType::f64, {2, 3}, layout), matrix(DType::f64, {1, 1}), gain(DType::f64, {1, 1}),
        initial(DType::f64, {1}), last(DType::f64, {2, 1}), rows(DType::f64, {2, 3}, layout),
        none(DType::f64, {2, 0});
    x.fill<double>({1, 2, 3, 4, 5, 6});
    matrix.fill<double>({1});
    gain.fill<double>({2});
    initial.fill<double>({1});
    Use use{.id = KernelId::linear_scan,
            .inputs = {&x, &matrix, &gain, &initial},
            .outputs = {&last, &rows, &none},
            .attrs = {Attr(std::int64_t{1}), Attr(std::int64_t{0})}};
    ASSERT_EQ(run(use, active_isa()), "");
    EXPECT_EQ(difference(rows, std::vector<double>{13, 11, 7, 31, 23, 13}), "");
    EXPECT_EQ(difference(last, std::vector<double>{13, 31}), "");
    EXPECT_TRUE(rows.untouched_between());
  }
}

}  // namespace
}  // namespace scanloom::kernels::testing
