// Small products of a batch with denormal factors, which are scaled: the bits of the naive loop.
#include "kernels/scaled_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/simd.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

/// More than are searched after the last denormal.
constexpr std::int64_t kBatch = 150, kRows = 7, kDepth = 21, kColumns = 37;

/// Returns the element of a matrix of the batch.
template <class T>
using ElementAt = std::function<T(std::int64_t matrix, std::int64_t index)>;

template <class T>
void fill(Buffer& buffer, std::int64_t each, const ElementAt<T>& element) {
  for (std::int64_t i = 0; i < buffer.elements(); ++i)
    buffer.at<T>(i) = element(i / each, i % each);
}

template <class T>
void expect_products(const ElementAt<T>& of_a, const ElementAt<T>& of_b, Layout layout) {
  Buffer a(dtype_of<T>, {kBatch, kRows, kDepth}, layout);
  Buffer b(dtype_of<T>, {kBatch, kDepth, kColumns}), out(dtype_of<T>, {kBatch, kRows, kColumns});
  fill(a, kRows * kDepth, of_a);
  fill(b, kDepth * kColumns, of_b);
  for (const Isa isa : available_isas()) {
    std::vector<T> expected;
    for (std::int64_t matrix = 0; matrix < kBatch; ++matrix)
      for (std::int64_t row = 0; row < kRows; ++row)
        for (std::int64_t column = 0; column < kColumns; ++column) {
          T sum = 0;
          for (std::int64_t k = 0; k < kDepth; ++k)
            sum = multiply_add(isa, a.at<T>((matrix * kRows + row) * kDepth + k),
                               b.at<T>((matrix * kDepth + k) * kColumns + column), sum);
          expected.push_back(sum);
        }
    for (const int threads : {1, 3}) {
      const Use use{.id = KernelId::contract,
                    .inputs = {&a, &b},
                    .outputs = {&out},
                    .attrs = {Attr("bmk,bkn->bmn")}};
      ASSERT_EQ(run(use, isa, threads), "");
      EXPECT_EQ(difference(out, expected), "") << isa_name(isa) << ", threads " << threads;
    }
  }
}

/// Numbers around 1 of both signs.
template <class T>
T usual(std::int64_t matrix, std::int64_t index) {
  return static_cast<T>(std::sin(static_cast<double>(17 * matrix + 3 * index)));
}

/// Some elements of some matrices are denormal, of both signs, or 0.
template <class T>
T sometimes_denormal(std::int64_t matrix, std::int64_t index) {
  constexpr T kMin = std::numeric_limits<T>::denorm_min();
  if (matrix % 70 > 4 || index % 3 == 0) return usual<T>(matrix, index);
  if (index % 11 == 0) return index % 2 == 0 ? T{0} : -T{0};
  return kMin * static_cast<T>(index * index * (index % 2 == 0 ? 1 : -1));
}

template <class T>
void expect_all_kinds() {
  constexpr T kLarge = std::numeric_limits<T>::max() / 1024;
  const auto tiny = [](std::int64_t matrix, std::int64_t index) {
    return usual<T>(matrix, index) * std::numeric_limits<T>::min() * 8;
  };
  const auto wide = [](std::int64_t matrix, std::int64_t index) {
    return index == 5 ? kLarge : sometimes_denormal<T>(matrix, index);
  };
  const auto special = [](std::int64_t matrix, std::int64_t index) {
    if (index == 9) return matrix % 2 == 0 ? T{INFINITY} : std::numeric_limits<T>::quiet_NaN();
    return usual<T>(matrix, index);
  };
  for (const Layout layout : {Layout::contiguous, Layout::transposed}) {
    expect_products<T>(sometimes_denormal<T>, usual<T>, layout);
    expect_products<T>(usual<T>, sometimes_denormal<T>, layout);
    expect_products<T>(sometimes_denormal<T>, sometimes_denormal<T>, layout);
    expect_products<T>(sometimes_denormal<T>, tiny, layout);
    expect_products<T>(wide, usual<T>, layout);
    expect_products<T>(sometimes_denormal<T>, special, layout);
  }
}

TEST(ScaledProduct, HasTheBitsOfTheNaiveLoop) {
  expect_all_kinds<float>();
  expect_all_kinds<double>();
}

bool scales(float of_a, float of_b) {
  const ProductFns<float>& fns = simd_tables(active_isa()).f32;
  std::vector<float> a(kRows * kDepth, 1), b(kDepth * kColumns, 1), out(kRows * kColumns);
  a[3] = of_a;
  b[4] = of_b;
  const Product<float> product{.m = kRows,
                               .a = a.data(),
                               .a_row = kDepth,
                               .a_step = 1,
                               .b = {b.data(), kDepth, kColumns, kColumns, 1},
                               .c = out.data(),
                               .c_row = kColumns};
  return multiply_scaled(fns, product);
}

TEST(ScaledProduct, ScalesWhereNoBitIsLost) {
  constexpr float kDenormal = 1e-40F, kMin = std::numeric_limits<float>::min();
  EXPECT_TRUE(scales(kDenormal, 1));
  EXPECT_TRUE(scales(1, -kDenormal));
  EXPECT_TRUE(scales(kDenormal, 0x1p-62F));
  EXPECT_TRUE(scales(kDenormal, 0x1p127F));
  EXPECT_FALSE(scales(1, 1));
  EXPECT_FALSE(scales(kMin, kMin));
  EXPECT_FALSE(scales(kDenormal, kDenormal));
  EXPECT_FALSE(scales(kDenormal, 0x1p-63F));
  EXPECT_FALSE(scales(kDenormal, INFINITY));
  EXPECT_TRUE(may_scale<float>(kRows, kColumns, kDepth));
  EXPECT_FALSE(may_scale<float>(1, 2, 3));
  EXPECT_FALSE(may_scale<float>(1000, 1000, 1000));
}

}  // namespace
}  // namespace scanloom::kernels::testing
