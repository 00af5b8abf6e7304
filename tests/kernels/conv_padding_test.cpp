// Where padding takes part in convolutions, and where it decides. The kernel is compared with the
// reference, in which it always takes part.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/ops.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

/// Compares a convolution of blocks whose windows meet padding with most rows of the kernel.
void expect_kept_padding(float weight_of_padding, float bias_of_all) {
  Buffer x(DType::f32, {1, 40, 6, 16}), w(DType::f32, {32, 40, 3, 3}), bias(DType::f32, {32});
  // The products with elements of x round to -0, those with padding may be others.
  x.fill<float>(std::vector<float>(static_cast<std::size_t>(x.elements()), 1e-30F));
  for (std::int64_t i = 0; i < w.elements(); ++i)
    w.at<float>(i) = i % 9 == 4 ? -1e-30F : weight_of_padding;
  bias.fill<float>(std::vector<float>(32, bias_of_all));
  Buffer y(DType::f32, {1, 32, 6, 16}), reference(DType::f32, {1, 32, 6, 16});
  Use use{
      .id = KernelId::conv,
      .inputs = {&x, &w, &bias},
      .outputs = {&reference},
      .attrs = {Attr(), Attr(Ints{5, 5}), Attr(std::int64_t{1}), Attr(Ints{5, 5, 5, 5}), Attr()},
      .constant = {false, true, true}};
  for (const Isa isa : available_isas()) {
    use.outputs = {&reference};
    {
      const Masked masked(isa);
      ASSERT_EQ(run_reference(ops::conv_op, use), "");
    }
    std::vector<float> expected;
    for (std::int64_t i = 0; i < reference.elements(); ++i)
      expected.push_back(reference.at<float>(i));
    use.outputs = {&y};
    ASSERT_EQ(run(use, isa), "");
    EXPECT_EQ(difference(y, expected), "") << isa_name(isa);
  }
}

TEST(ConvPadding, TakesPartWhereItDecides) {
  expect_kept_padding(1e-30F, -0.0F);
  expect_kept_padding(1e-30F, 0.0F);
  expect_kept_padding(INFINITY, 1);
  expect_kept_padding(NAN, 1);
}

TEST(ConvPadding, UnderAnInfiniteWeightMakesNan) {
  Buffer x(DType::f32, {1, 1, 2}), w(DType::f32, {1, 1, 2}), y(DType::f32, {1, 1, 3});
  x.fill<float>({1, 2});
  w.fill<float>({INFINITY, 1});
  ASSERT_EQ(run({.id = KernelId::conv,
                 .inputs = {&x, &w, nullptr},
                 .outputs = {&y},
                 .attrs = {Attr(), Attr(), Attr(), Attr(Ints{1, 1}), Attr()}},
                active_isa()),
            "");
  EXPECT_TRUE(std::isnan(y.at<float>(0)));
  EXPECT_EQ(y.at<float>(1), INFINITY);
}

}  // namespace
}  // namespace scanloom::kernels::testing
