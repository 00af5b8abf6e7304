#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/simd.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

template <class T>
void run_table(const SimdTables& table, const tensor::AffineScan<T>& scan) {
  if constexpr (sizeof(T) == 4)
    table.f32_affine(scan);
  else
    table.f64_affine(scan);
}

template <class T>
struct Rows {
  std::vector<T> a, b, y;

  Rows(std::int64_t steps, T factor)
      : a(static_cast<std::size_t>(steps)),
        b(static_cast<std::size_t>(steps)),
        y(static_cast<std::size_t>(steps) + 1) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto x = static_cast<T>(i);
      a[i] = factor * std::cos(T(0.7) * x);
      b[i] = std::sin(T(1.3) * x) + T(0.1);
    }
  }

  tensor::AffineScan<T> scan(bool reverse, bool same_factor) {
    const auto steps = static_cast<std::int64_t>(a.size());
    y[reverse ? a.size() : 0] = T(0.3);
    if (!reverse) return {a.data(), b.data(), y.data(), same_factor ? 0 : 1, 1, 1, steps};
    const std::int64_t last = steps - 1;
    return {same_factor ? a.data() : a.data() + last,
            b.data() + last,
            y.data() + steps,
            same_factor ? 0 : -1,
            -1,
            -1,
            steps};
  }

  /// The steps one after the other in higher precision, with the magnitude of the rounded values.
  void expect_right(bool reverse, bool same_factor) const {
    long double state = T(0.3), error = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::size_t t = reverse ? a.size() - 1 - i : i;
      const long double factor = a[same_factor ? 0 : t];
      state = factor * state + b[t];
      error = std::fabs(factor) * error +
              16 * std::numeric_limits<T>::epsilon() * (std::fabs(state) + std::fabs(b[t]) + 1);
      EXPECT_NEAR(static_cast<double>(y[reverse ? t : t + 1]), static_cast<double>(state),
                  static_cast<double>(error));
    }
  }
};

template <class T>
void expect_scan(std::int64_t steps, T factor, bool reverse, bool same_factor) {
  if (steps == 0 && (reverse || same_factor)) return;  // no last element to point to
  Rows<T> expected(steps, factor);
  tensor::run_affine_scan(expected.scan(reverse, same_factor));
  expected.expect_right(reverse, same_factor);
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    Rows<T> rows(steps, factor);
    run_table(simd_tables(isa), rows.scan(reverse, same_factor));
    EXPECT_EQ(rows.y, expected.y);
  }
}

TEST(AffineScan, BlocksGiveTheReferencesBitsOnEveryInstructionSet) {
  for (const std::int64_t steps : {0, 1, 2, 7, 8, 9, 15, 16, 17, 64, 100, 1001})
    for (const bool reverse : {false, true})
      for (const bool same_factor : {false, true}) {
        SCOPED_TRACE(steps);
        expect_scan<float>(steps, 0.95f, reverse, same_factor);
        expect_scan<double>(steps, 0.95, reverse, same_factor);
      }
}

// Blocks with infinities are computed step by step, and the blocks after them continue from there.
TEST(AffineScan, StatesThatOverflow) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    Rows<float> rows(64, 0.9f);
    rows.a[20] = rows.a[21] = rows.a[22] = 1e20f;
    rows.b[19] = rows.b[20] = rows.b[21] = rows.b[22] = 0;
    rows.a[19] = 0;  // the state is 0 before the product overflows
    rows.a[45] = 0;  // what is left of step 40 is 0 times infinity
    rows.b[40] = std::numeric_limits<float>::infinity();
    run_table(simd_tables(isa), rows.scan(false, false));
    float state = 0.3f;
    for (std::size_t t = 0; t < 40; ++t) {
      state = rows.a[t] * state + rows.b[t];
      EXPECT_NEAR(rows.y[t + 1], state, 1e-5f) << t;
    }
    for (std::size_t t = 40; t < 45; ++t) EXPECT_TRUE(std::isinf(rows.y[t + 1])) << t;
    for (std::size_t t = 45; t < 64; ++t) EXPECT_TRUE(std::isnan(rows.y[t + 1])) << t;
  }
}

TEST(AffineScan, RunsAsAKernelAndDeclinesOtherLayouts) {
  Buffer a(DType::f64, {9}), b(DType::f64, {9}), initial(DType::f64, {}), y(DType::f64, {10});
  a.fill<double>({1, 2, -1});
  b.fill<double>({1, 0});
  initial.fill<double>({3});
  Use use{.id = KernelId::affine_scan,
          .inputs = {&a, &b, &initial},
          .outputs = {&y},
          .attrs = {Attr(std::int64_t{1})}};
  ASSERT_EQ(run(use, active_isa()), "");
  EXPECT_EQ(difference(y, std::vector<double>{-11, -12, -6, 7, 7, 3, -3, -4, -2, 3}), "");
  EXPECT_TRUE(y.untouched_between());
  Buffer gapped(DType::f64, {9}, Layout::gapped);
  gapped.fill<double>({1});
  use.inputs[0] = &gapped;
  EXPECT_EQ(run(use, active_isa()), "steps that are not adjacent in memory");
}

}  // namespace
}  // namespace scanloom::kernels::testing
