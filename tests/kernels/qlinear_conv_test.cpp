#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

struct QlinearConvCase {
  Shape x, w;
  std::int64_t group, stride, pad;
  bool per_filter, bias;
};

// One or two spatial axes, with the same stride and padding along each.
template <class X, class Y, class W = std::int8_t>
void expect_qlinear_conv(const QlinearConvCase& c, Layout layout) {
  const int axes = c.x.rank() - 2;
  const std::int64_t width = c.x[axes + 1], height = axes == 2 ? c.x[2] : 1;
  const std::int64_t kw = c.w[axes + 1], kh = axes == 2 ? c.w[2] : 1;
  const std::int64_t pad_h = axes == 2 ? c.pad : 0;
  const std::int64_t out_w = (width + 2 * c.pad - kw) / c.stride + 1;
  const std::int64_t out_h = (height + 2 * pad_h - kh) / c.stride + 1;
  Shape result{c.x[0], c.w[0]};
  if (axes == 2) result.push_back(out_h);
  result.push_back(out_w);
  const std::int64_t count = c.per_filter ? c.w[0] : 1;
  Buffer x(dtype_of<X>, c.x, layout), w(dtype_of<W>, c.w), y(dtype_of<Y>, result);
  Buffer xs(DType::f32, {}), xz(dtype_of<X>, {}), ws(DType::f32, {count}), wz(dtype_of<W>, {count});
  Buffer ys(DType::f32, {}), yz(dtype_of<Y>, {}), b(DType::i32, {c.w[0]});
  x.fill_random(1);
  w.fill_random(2);
  b.fill_random(3);
  xs.fill<float>({0.02f});
  xz.fill<X>({11});
  ws.fill<float>({0.03f, 0.5f, 0.007f});
  // Weights less these are bytes, less than -128 or more than 127.
  wz.fill<W>({static_cast<W>(-3), 4, 0, 127, static_cast<W>(-128)});
  ys.fill<float>({0.9f});
  yz.fill<Y>({20});
  std::vector<Y> expected;
  const std::int64_t filters = c.w[0] / c.group, channels = c.w[1];
  for (std::int64_t n = 0; n < c.x[0]; ++n)
    for (std::int64_t f = 0; f < c.w[0]; ++f)
      for (std::int64_t oy = 0; oy < out_h; ++oy)
        for (std::int64_t ox = 0; ox < out_w; ++ox) {
          std::int64_t sum = c.bias ? b.at<std::int32_t>(f) : 0;
          const std::int64_t p = c.per_filter ? f : 0;
          for (std::int64_t ch = 0; ch < channels; ++ch)
            for (std::int64_t i = 0; i < kh; ++i)
              for (std::int64_t j = 0; j < kw; ++j) {
                const std::int64_t row = oy * c.stride - pad_h + i, col = ox * c.stride - c.pad + j;
                if (row < 0 || row >= height || col < 0 || col >= width) continue;
                const std::int64_t at =
                    ((n * c.x[1] + f / filters * channels + ch) * height + row) * width + col;
                sum +=
                    (std::int64_t{x.at<X>(at)} - 11) *
                    (std::int64_t{w.at<W>(((f * channels + ch) * kh + i) * kw + j)} - wz.at<W>(p));
              }
          const float scaled = static_cast<float>(sum) * (0.02f * ws.at<float>(p) / 0.9f);
          const double value = std::nearbyint(static_cast<double>(scaled)) + 20;
          using Limits = std::numeric_limits<Y>;
          expected.push_back(value < Limits::min()   ? Limits::min()
                             : value > Limits::max() ? Limits::max()
                                                     : static_cast<Y>(value));
        }
  const auto list = [&](std::int64_t value, int times) {
    return Attr(std::vector<std::int64_t>(static_cast<std::size_t>(times), value));
  };
  const Use use{
      .id = KernelId::qlinear_conv,
      .inputs = {&x, &xs, &xz, &w, &ws, &wz, &ys, &yz, c.bias ? &b : nullptr},
      .outputs = {&y},
      .attrs = {Attr(), Attr(), Attr(c.group), list(c.pad, 2 * axes), list(c.stride, axes)},
      .constant = {false, true, true, true, true, true}};
  for (const Isa isa : available_isas())
    for (const int threads : {1, 3}) {
      ASSERT_EQ(run(use, isa, threads), "");
      EXPECT_EQ(difference(y, expected), "") << isa_name(isa);
    }
}

TEST(QlinearConv, GivesTheNumbersOfTheNaiveLoop) {
  const std::vector<QlinearConvCase> cases = {
      {{1, 5, 1}, {12, 5, 1}, 1, 1, 0, false, true},
      {{2, 4, 9}, {6, 2, 3}, 2, 1, 1, true, true},
      {{1, 3, 20}, {4, 3, 5}, 1, 2, 2, true, false},
      {{1, 2, 7, 8}, {3, 2, 3, 3}, 1, 1, 1, false, true},
      {{2, 8, 5, 5}, {8, 1, 3, 3}, 8, 2, 1, true, true},
      {{1, 64, 4}, {3, 64, 2}, 1, 1, 0, false, false},
      {{1, 16, 3}, {70, 16, 3}, 1, 1, 1, true, true},
      {{2, 32, 2}, {130, 16, 1}, 2, 1, 0, true, true},
      {{1, 3, 40, 41}, {9, 3, 3, 3}, 1, 1, 1, true, true},
      {{2, 260, 10, 11}, {5, 260, 3, 3}, 1, 1, 1, true, true},
      {{1, 3, 30, 31}, {4, 3, 3, 3}, 1, 3, 1, true, true},
      {{1, 2, 33, 70}, {5, 2, 3, 3}, 1, 2, 1, false, true},
      {{1, 4, 100, 9}, {3, 4, 3, 3}, 1, 1, 0, true, true},
      {{1, 8, 6, 6}, {20, 8, 1, 1}, 1, 1, 0, true, false},
      // Groups of few filters, line by line: long lines, and short ones that are joined.
      {{2, 6, 20, 70}, {6, 1, 3, 3}, 6, 1, 1, true, true},
      {{1, 6, 21, 71}, {12, 1, 5, 5}, 6, 2, 2, true, true},
      {{1, 40, 7, 7}, {40, 1, 3, 3}, 40, 1, 1, true, true},
      {{2, 16, 9, 11}, {16, 4, 3, 3}, 4, 2, 1, false, false},
      {{1, 32, 100}, {32, 1, 31}, 32, 1, 15, true, true},
      {{1, 12, 40}, {12, 2, 4}, 6, 2, 1, true, false},
      // The same with lines of more than a block, and more than one channel in a group.
      {{1, 8, 5, 300}, {4, 2, 3, 4}, 4, 2, 1, true, true},
      {{2, 3, 150}, {3, 1, 9}, 3, 1, 4, true, true},
      // Quads of channels: copied, with steps, or in place; with channels that fill the last one.
      {{1, 8, 12, 19}, {13, 8, 3, 3}, 1, 1, 1, true, true},
      {{2, 31, 9, 34}, {50, 31, 3, 3}, 1, 2, 1, true, true},
      {{1, 24, 23, 25}, {7, 24, 1, 1}, 1, 1, 0, true, true},
      {{1, 64, 7, 7}, {96, 32, 1, 1}, 2, 1, 0, true, false},
      {{2, 62, 11, 13}, {66, 31, 1, 1}, 2, 1, 0, true, true},
      {{1, 16, 20, 21}, {6, 16, 2, 2}, 1, 3, 0, false, true},
      // So much padding that the image is kept without it.
      {{1, 1, 5}, {8, 1, 3}, 1, 1, 40'000, false, true},
  };
  for (const QlinearConvCase& c : cases)
    for (const Layout layout : kLayouts) {
      expect_qlinear_conv<std::uint8_t, std::uint8_t>(c, layout);
      expect_qlinear_conv<std::int8_t, std::int8_t>(c, layout);
      expect_qlinear_conv<std::uint8_t, std::int8_t>(c, layout);
      expect_qlinear_conv<std::int8_t, std::uint8_t>(c, layout);
      expect_qlinear_conv<std::uint8_t, std::uint8_t, std::uint8_t>(c, layout);
      expect_qlinear_conv<std::int8_t, std::int8_t, std::uint8_t>(c, layout);
    }
}

// Beside such biases sums do not fit in 32 bits; a scale of 0 makes NaN of 0, and infinities.
TEST(QlinearConv, LargeBiasesAndScalesThatAreNotNumbers) {
  for (const Isa isa : available_isas())
    for (const float y_scale : {1e9f, 0.0f}) {
      Buffer x(DType::u8, {1, 1, 20}), w(DType::i8, {3, 1, 1}), y(DType::u8, {1, 3, 20});
      Buffer scale(DType::f32, {}), ys(DType::f32, {}), z(DType::u8, {}), wz(DType::i8, {});
      Buffer b(DType::i32, {3});
      x.fill<std::uint8_t>({0, 255, 7});
      w.fill<std::int8_t>({127, -128, 1});
      b.fill<std::int32_t>({2'147'483'647, -2'147'483'647, 0});
      scale.fill<float>({10.0f});
      ys.fill<float>({y_scale});
      z.fill<std::uint8_t>({0});
      wz.fill<std::int8_t>({0});
      ASSERT_EQ(run({.id = KernelId::qlinear_conv,
                     .inputs = {&x, &scale, &z, &w, &scale, &wz, &ys, &z, &b},
                     .outputs = {&y},
                     .attrs = {Attr(), Attr(), Attr(), Attr(), Attr()},
                     .constant = {false, true, true, true, true, true}},
                    isa),
                "");
      std::vector<std::uint8_t> expected;
      for (std::int64_t f = 0; f < 3; ++f)
        for (std::int64_t i = 0; i < 20; ++i) {
          const std::int64_t sum =
              std::int64_t{x.at<std::uint8_t>(i)} * w.at<std::int8_t>(f) + b.at<std::int32_t>(f);
          const float scaled = static_cast<float>(sum) * (10.0f * 10.0f / y_scale);
          const double value = std::nearbyint(static_cast<double>(scaled));
          expected.push_back(value != value ? 0
                             : value < 0    ? 0
                             : value > 255  ? 255
                                            : static_cast<std::uint8_t>(value));
        }
      EXPECT_EQ(difference(y, expected), "") << y_scale << isa_name(isa);
    }
}

TEST(QlinearConv, DeclinesWeightsThatAreNotConstant) {
  Buffer x(DType::u8, {1, 1, 1}), s(DType::f32, {}), z(DType::u8, {}), y(DType::u8, {1, 1, 1});
  EXPECT_EQ(run({.id = KernelId::qlinear_conv,
                 .inputs = {&x, &s, &z, &x, &s, &z, &s, &z},
                 .outputs = {&y},
                 .attrs = {Attr(), Attr(), Attr(), Attr(), Attr()}},
                active_isa()),
            "weights that are not constant");
}

}  // namespace
}  // namespace scanloom::kernels::testing
