#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

template <class T>
T quantized(float x, float scale, T zero) {
  const double value = std::nearbyint(static_cast<double>(x / scale)) + static_cast<double>(zero);
  using Limits = std::numeric_limits<T>;
  if (value != value) return 0;
  if (value < Limits::min()) return Limits::min();
  return value > Limits::max() ? Limits::max() : static_cast<T>(value);
}

template <class T>
void expect_quantized(const Shape& shape, bool per_axis, bool has_zero) {
  const int axis = shape.rank() - 2;
  const std::int64_t count = per_axis ? shape[axis] : 1;
  Buffer x(DType::f32, shape), scale(DType::f32, {count}), zero(dtype_of<T>, {count});
  Buffer y(dtype_of<T>, shape), back(DType::f32, shape);
  x.fill_random(1);
  const std::vector<float> special = {0.0f,      -0.0f, 0.25f, 0.75f, -0.25f, NAN, INFINITY,
                                      -INFINITY, 1e30f, 1e9f,  -1e9f, 63.75f, 2e7f};
  for (std::int64_t i = 0; i < x.elements(); i += 2)
    x.at<float>(i) = special[static_cast<std::size_t>(i / 2) % special.size()];
  scale.fill<float>({0.5f, 0.1f, 3.0f, 1e-3f});
  zero.fill<T>({3, 0, std::numeric_limits<T>::max(), 7});
  const auto parameter = [&](std::int64_t i) {
    return per_axis ? i / shape[shape.rank() - 1] % count : 0;
  };
  std::vector<T> expected;
  for (std::int64_t i = 0; i < x.elements(); ++i)
    expected.push_back(quantized<T>(x.at<float>(i), scale.at<float>(parameter(i)),
                                    has_zero ? zero.at<T>(parameter(i)) : T{0}));
  Use use{.id = KernelId::quantize,
          .inputs = {&x, &scale, has_zero ? &zero : nullptr},
          .outputs = {&y},
          .attrs = {Attr(axis)}};
  ASSERT_EQ(run(use, active_isa()), "");
  EXPECT_EQ(difference(y, expected), "");

  std::vector<float> real;
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const int centered = int{y.at<T>(i)} - (has_zero ? int{zero.at<T>(parameter(i))} : 0);
    real.push_back(static_cast<float>(centered) * scale.at<float>(parameter(i)));
  }
  use.id = KernelId::dequantize;
  use.inputs[0] = &y;
  use.outputs = {&back};
  ASSERT_EQ(run(use, active_isa()), "");
  EXPECT_EQ(difference(back, real), "");
}

TEST(Quantize, AndDequantizeOfAllTypesAndParameters) {
  for (const Shape& shape : {Shape{1, 3}, Shape{5, 40}, Shape{3, 4, 17}, Shape{0, 2}})
    for (const bool per_axis : {false, true})
      for (const bool has_zero : {false, true}) {
        expect_quantized<std::uint8_t>(shape, per_axis, has_zero);
        expect_quantized<std::int8_t>(shape, per_axis, has_zero);
        expect_quantized<std::uint16_t>(shape, per_axis, has_zero);
        expect_quantized<std::int16_t>(shape, per_axis, has_zero);
      }
}

// Where the reciprocal of the scale would round another way, and where there is none.
TEST(Quantize, QuotientsCloseToTies) {
  for (const float scale :
       {0.1f, 0.3f, 7e-3f, -0.17f, 4.0f, 1e-20f, 1e20f, 3e38f, 2e-38f, 1e-40f}) {
    std::vector<float> values;
    for (int n = -260; n < 262; ++n) {
      const float tie = (static_cast<float>(n) + 0.5f) * scale;
      for (const float near : {tie, tie * 1.00001f, tie * 0.9999f}) values.push_back(near);
      for (const float to : {-INFINITY, INFINITY})
        for (float at = tie, i = 0; i < 3; ++i) values.push_back(at = std::nextafter(at, to));
    }
    const auto count = static_cast<std::int64_t>(values.size());
    Buffer x(DType::f32, {count}), by(DType::f32, {}), zero(DType::u8, {}), y(DType::u8, {count});
    x.fill(values);
    by.fill<float>({scale});
    zero.fill<std::uint8_t>({5});
    std::vector<std::uint8_t> expected;
    for (const float value : values) expected.push_back(quantized<std::uint8_t>(value, scale, 5));
    for (const Isa isa : available_isas()) {
      const Use use{.id = KernelId::quantize,
                    .inputs = {&x, &by, &zero},
                    .outputs = {&y},
                    .attrs = {Attr(0)}};
      ASSERT_EQ(run(use, isa), "");
      EXPECT_EQ(difference(y, expected), "") << isa_name(isa) << ", scale " << scale;
    }
  }
}

template <class T>
void expect_dequantized_columns(std::int64_t rows, std::int64_t columns, bool has_zero, Isa isa) {
  Buffer x(dtype_of<T>, {rows, columns}), zero(dtype_of<T>, {columns});
  Buffer scale(DType::f32, {columns}), y(DType::f32, {rows, columns});
  x.fill_random(1);
  zero.fill_random(2);
  scale.fill_random(3);
  std::vector<float> expected;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const int centred = int{x.at<T>(i)} - (has_zero ? int{zero.at<T>(i % columns)} : 0);
    expected.push_back(static_cast<float>(centred) * scale.at<float>(i % columns));
  }
  const Use use{.id = KernelId::dequantize,
                .inputs = {&x, &scale, has_zero ? &zero : nullptr},
                .outputs = {&y},
                .attrs = {Attr(1)}};
  for (const int threads : {1, 3}) {
    ASSERT_EQ(run(use, isa, threads), "");
    EXPECT_EQ(difference(y, expected), "") << columns << " columns, " << isa_name(isa);
  }
}

// Parameters along the last axis, in lines that threads share, too.
TEST(Dequantize, ColumnsWithScalesOfTheirOwn) {
  for (const Isa isa : available_isas())
    for (const std::int64_t columns : {1, 2, 15, 16, 17, 100, 70'000})
      for (const bool has_zero : {false, true}) {
        expect_dequantized_columns<std::uint8_t>(3, columns, has_zero, isa);
        expect_dequantized_columns<std::int8_t>(3, columns, has_zero, isa);
        expect_dequantized_columns<std::int16_t>(3, columns, has_zero, isa);
      }
}

TEST(Dequantize, DifferencesOf32BitsAreExact) {
  Buffer x(DType::i32, {3}), scale(DType::f32, {}), zero(DType::i32, {}), y(DType::f32, {3});
  x.fill<std::int32_t>({std::numeric_limits<std::int32_t>::max(), 0, -5});
  scale.fill<float>({0.5f});
  zero.fill<std::int32_t>({std::numeric_limits<std::int32_t>::min()});
  ASSERT_EQ(run({.id = KernelId::dequantize,
                 .inputs = {&x, &scale, &zero},
                 .outputs = {&y},
                 .attrs = {Attr(1)}},
                active_isa()),
            "");
  EXPECT_EQ(y.at<float>(0), static_cast<float>(4294967295.0) * 0.5f);
  EXPECT_EQ(y.at<float>(1), 1073741824.0f);
}

TEST(Quantize, DeclinesWhatIsLeftToTheReference) {
  Buffer x(DType::f16, {3}), scale(DType::f32, {}), y(DType::u8, {3}), z(DType::f32, {3}),
      w(DType::i32, {3});
  Use use{.id = KernelId::quantize, .inputs = {&x, &scale}, .outputs = {&y}, .attrs = {Attr(1)}};
  EXPECT_EQ(run(use, active_isa()), "only from f32");
  use.inputs[0] = &z;
  use.outputs = {&w};
  EXPECT_EQ(run(use, active_isa()), "only to integers of 8 or 16 bits");
  Buffer strided(DType::f32, {3}, Layout::gapped);
  use.inputs[0] = &strided;
  EXPECT_EQ(run(use, active_isa()), "operands that are not contiguous");
}

}  // namespace
}  // namespace scanloom::kernels::testing
