// Convolutions whose sums are taken by Winograd's minimal filtering (opmath/winograd.h). The
// reference is compared with sums in f64 and with exact ones, and the kernel with the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "kernels/conv_planes.h"
#include "opmath/conv_geometry.h"
#include "opmath/winograd.h"
#include "ops/ops.h"
#include "tensor/visit.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct WinogradCase {
  std::int64_t batch, channels, filters, rows, columns;
  Ints pads = {1, 1, 1, 1}, dilation = {1, 1};

  [[nodiscard]] Shape x() const { return {batch, channels, rows, columns}; }
  [[nodiscard]] Shape w() const { return {filters, channels, 3, 3}; }
  [[nodiscard]] Shape y() const {
    return {batch, filters, rows + pads[0] + pads[2] - 2 * dilation[0],
            columns + pads[1] + pads[3] - 2 * dilation[1]};
  }
  [[nodiscard]] std::vector<Attr> attrs() const {
    return {Attr(), Attr(dilation), Attr(std::int64_t{1}), Attr(pads), Attr()};
  }
  [[nodiscard]] std::string text() const {
    std::string text = x().to_string() + w().to_string();
    for (const Ints& list : {pads, dilation})
      for (const std::int64_t number : list) text += " " + std::to_string(number);
    return text;
  }
  [[nodiscard]] bool is_winograd() const {
    const auto geometry = tensor::conv_geometry(x(), w(), attrs());
    return geometry && tensor::sums_by_winograd(*geometry);
  }
};

/// The operands of a case.
struct WinogradOperands {
  explicit WinogradOperands(const WinogradCase& c, Layout layout = Layout::contiguous)
      : attrs(c.attrs()),
        x(DType::f32, c.x(), layout),
        w(DType::f32, c.w()),
        bias(DType::f32, {c.filters}) {
    x.fill_random(1);
    w.fill_random(2);
    bias.fill_random(3);
  }

  [[nodiscard]] Use use(Buffer& y, bool constant = true) {
    return {.id = KernelId::conv,
            .inputs = {&x, &w, has_bias ? &bias : nullptr},
            .outputs = {&y},
            .attrs = attrs,
            .constant = {false, constant}};
  }
  [[nodiscard]] std::vector<float> reference(const WinogradCase& c, Isa isa) {
    const Masked masked(isa);
    Buffer y(DType::f32, c.y());
    EXPECT_EQ(run_reference(ops::conv_op, use(y)), "");
    std::vector<float> values;
    for (std::int64_t i = 0; i < y.elements(); ++i) values.push_back(y.at<float>(i));
    return values;
  }

  std::vector<Attr> attrs;
  Buffer x, w, bias;
  bool has_bias = true;
};

void expect_reference(WinogradOperands& operands, const WinogradCase& c,
                      const std::vector<float>& wanted, Isa isa, bool constant, int threads,
                      Layout y_layout) {
  Buffer y(DType::f32, c.y(), y_layout);
  ASSERT_EQ(run(operands.use(y, constant), isa, threads), "") << c.text() << isa_name(isa);
  EXPECT_EQ(difference(y, wanted), "") << c.text() << isa_name(isa) << " " << threads;
}

/// Whether a result with its channels last has whole vectors of filters on all instruction sets.
bool fills_vectors(const WinogradCase& c) { return c.filters % 16 == 0; }

void expect_all_layouts(const WinogradCase& c, const std::vector<int>& threads = {1}) {
  ASSERT_TRUE(c.is_winograd()) << c.text();
  std::map<bool, std::vector<float>>
      references;  // which depend on nothing else of the instruction set
  for (const Isa isa : available_isas()) {
    WinogradOperands first(c), last(c, Layout::channels_last), reversed(c, Layout::reversed);
    std::vector<float>& wanted = references[fuses(isa)];
    if (wanted.empty()) wanted = first.reference(c, isa);
    for (const int count : threads) {
      for (const bool constant : {true, false})
        expect_reference(first, c, wanted, isa, constant, count, Layout::contiguous);
      expect_reference(last, c, wanted, isa, true, count, Layout::contiguous);
      if (!fills_vectors(c)) continue;
      for (WinogradOperands* operands : {&first, &last})
        expect_reference(*operands, c, wanted, isa, true, count, Layout::channels_last);
    }
    expect_reference(reversed, c, wanted, isa, true, 1, Layout::contiguous);
  }
}

TEST(ConvWinograd, SmallImages) {
  for (std::int64_t rows = 2; rows <= 9; ++rows)
    for (std::int64_t columns = 2; columns <= 9; ++columns)
      expect_all_layouts({2, 24, (rows + columns) % 2 == 0 ? 48 : 25, rows, columns});
}

TEST(ConvWinograd, Padding) {
  for (const Ints& pads : {Ints{0, 0, 0, 0}, Ints{0, 1, 2, 1}, Ints{2, 0, 0, 1}, Ints{2, 2, 2, 2},
                           Ints{1, 0, 1, 2}, Ints{0, 2, 1, 0}, Ints{7, 0, 0, 9}})
    for (const std::int64_t size : {3, 4, 6, 7}) expect_all_layouts({1, 27, 32, size, 7, pads});
}

TEST(ConvWinograd, Dilations) {
  for (const Ints& dilation : {Ints{1, 2}, Ints{2, 1}, Ints{2, 2}, Ints{3, 4}, Ints{4, 3}})
    for (std::int64_t size = 5; size <= 17; ++size) {
      const Ints pads{dilation[0], dilation[1], dilation[0], dilation[1]};
      expect_all_layouts({1, 24, 32, size, 22 - size, pads, dilation});
      expect_all_layouts({2, 25, 33, 27 - size, 9, {0, dilation[1], 2, 3}, dilation});
    }
  const std::vector<int> threads{1, 7};
  expect_all_layouts({1, 32, 32, 37, 50, {2, 3, 2, 3}, {2, 3}}, threads);
  expect_all_layouts({1, 26, 48, 9, 290, {2, 4, 2, 4}, {2, 4}}, threads);
  expect_all_layouts({11, 40, 48, 7, 5, {2, 2, 2, 2}, {2, 2}}, threads);
  expect_all_layouts({1, 1100, 32, 15, 16, {4, 4, 4, 4}, {4, 4}}, threads);
}

TEST(ConvWinograd, TilesCoverAllResultsOnce) {
  for (std::int64_t dilation = 1; dilation <= 5; ++dilation)
    for (std::int64_t results = 0; results <= 30; ++results) {
      std::vector<int> covered(static_cast<std::size_t>(results));
      for (std::int64_t t = 0; t < tensor::winograd_tiles(results, dilation); ++t) {
        const std::int64_t first = tensor::first_of_tile(t, dilation);
        ASSERT_LT(first, results);
        ++covered[static_cast<std::size_t>(first)];
        if (first + dilation < results) ++covered[static_cast<std::size_t>(first + dilation)];
      }
      EXPECT_EQ(covered, std::vector<int>(covered.size(), 1)) << dilation << " " << results;
    }
}

TEST(ConvWinograd, ChannelsAndFilters) {
  for (const std::int64_t channels : {24, 25, 31, 32, 33, 40, 47, 129, 300})
    for (const std::int64_t filters : {24, 29, 32, 33, 40, 56, 57, 96, 112})
      expect_all_layouts({1, channels, filters, 5, 6});
}

TEST(ConvWinograd, StripsAndThreads) {
  const std::vector<int> threads{1, 2, 7};
  expect_all_layouts({1, 32, 32, 37, 50}, threads);   // whole lines of tiles
  expect_all_layouts({1, 26, 48, 6, 290}, threads);   // parts of a line of tiles
  expect_all_layouts({11, 40, 48, 7, 5}, threads);    // several images
  expect_all_layouts({1, 64, 176, 14, 14}, threads);  // parts of the filters
  expect_all_layouts({1, 1100, 32, 15, 16}, threads);
}

TEST(ConvWinograd, ImagesOfABatchAreIndependent) {
  const WinogradCase one{1, 24, 32, 12, 11}, many{3, 24, 32, 12, 11};
  WinogradOperands operands(many), alone(one);
  for (std::int64_t i = 0; i < alone.x.elements(); ++i)
    alone.x.at<float>(i) = operands.x.at<float>(alone.x.elements() + i);
  const std::vector<float> all = operands.reference(many, active_isa());
  const std::vector<float> wanted(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 3),
                                  all.begin() + static_cast<std::ptrdiff_t>(all.size() / 3 * 2));
  expect_reference(alone, one, wanted, active_isa(), true, 1, Layout::contiguous);
}

TEST(ConvWinograd, LeavesOtherConvolutionsAlone) {
  const auto takes = [](const Shape& x, const Shape& w, const Ints& stride, const Ints& dilation,
                        const Ints& pads, std::int64_t group = 1) {
    const std::vector<Attr> attrs{Attr(), Attr(dilation), Attr(group), Attr(pads), Attr(stride)};
    const auto geometry = tensor::conv_geometry(x, w, attrs);
    return geometry && tensor::sums_by_winograd(*geometry);
  };
  const Ints one{1, 1}, pads{1, 1, 1, 1};
  EXPECT_TRUE(takes({1, 24, 9, 9}, {24, 24, 3, 3}, one, one, pads));
  EXPECT_TRUE(takes({9, 24, 2, 9}, {24, 24, 3, 3}, one, one, pads));
  EXPECT_FALSE(takes({1, 23, 9, 9}, {24, 23, 3, 3}, one, one, pads));
  EXPECT_FALSE(takes({1, 24, 9, 9}, {23, 24, 3, 3}, one, one, pads));
  EXPECT_FALSE(takes({1, 48, 9, 9}, {48, 24, 3, 3}, one, one, pads, 2));
  EXPECT_FALSE(takes({1, 24, 9, 9}, {24, 24, 3, 3}, {1, 2}, one, pads));
  EXPECT_TRUE(takes({1, 24, 9, 9}, {24, 24, 3, 3}, one, {2, 4}, {2, 4, 2, 4}));
  EXPECT_FALSE(takes({1, 24, 19, 19}, {24, 24, 3, 3}, one, {1, 5}, pads));
  EXPECT_FALSE(takes({1, 24, 9, 9}, {24, 24, 3, 2}, one, one, pads));
  EXPECT_FALSE(takes({1, 24, 9}, {24, 24, 3}, {1}, {1}, {1, 1}));
  // A side of the kernel meets nothing but padding.
  EXPECT_FALSE(takes({1, 24, 1, 9}, {24, 24, 3, 3}, one, one, pads));
}

/// Integers from `least` to `most`.
void fill_integers(Buffer& buffer, int least, int most, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> number(least, most);
  for (std::int64_t i = 0; i < buffer.elements(); ++i)
    buffer.at<float>(i) = static_cast<float>(number(random));
}

/// Calls f(result, x, w) for the elements of every product of every result; x of padding is 0.
template <class F>
void for_each_product(WinogradOperands& operands, const WinogradCase& c, F&& f) {
  const Shape y = c.y();
  std::int64_t result = 0;
  for (std::int64_t image = 0; image < c.batch; ++image)
    for (std::int64_t filter = 0; filter < c.filters; ++filter)
      for (std::int64_t p = 0; p < y[2] * y[3]; ++p, ++result)
        for (std::int64_t tap = 0; tap < c.channels * 9; ++tap) {
          const std::int64_t row = p / y[3] - c.pads[0] + tap % 9 / 3 * c.dilation[0];
          const std::int64_t column = p % y[3] - c.pads[1] + tap % 3 * c.dilation[1];
          const std::int64_t plane = image * c.channels + tap / 9;
          const bool inside = row >= 0 && row < c.rows && column >= 0 && column < c.columns;
          f(result, inside ? operands.x.at<float>((plane * c.rows + row) * c.columns + column) : 0,
            operands.w.at<float>(filter * c.channels * 9 + tap));
        }
}

/// Sums in the order of other convolutions, whose products must be exact.
std::vector<float> direct_sums(WinogradOperands& operands, const WinogradCase& c) {
  std::vector<float> sums(static_cast<std::size_t>(c.y().elements()), 0.0F);
  for_each_product(operands, c, [&](std::int64_t result, float x, float w) {
    sums[static_cast<std::size_t>(result)] += x * w;
  });
  return sums;
}

void expect_direct_sums(WinogradOperands& operands, const WinogradCase& c) {
  ASSERT_TRUE(c.is_winograd());
  operands.has_bias = false;
  const std::vector<float> wanted = direct_sums(operands, c);
  for (const Isa isa : available_isas()) {
    Buffer y(DType::f32, c.y());
    y.fill<float>(operands.reference(c, isa));
    EXPECT_EQ(difference(y, wanted), "") << isa_name(isa);
    for (const bool constant : {true, false})
      expect_reference(operands, c, wanted, isa, constant, 1, Layout::contiguous);
  }
  if (!fills_vectors(c)) return;
  WinogradOperands last(c, Layout::channels_last);
  last.has_bias = false;
  for (std::int64_t i = 0; i < last.x.elements(); ++i)
    last.x.at<float>(i) = operands.x.at<float>(i);
  for (std::int64_t i = 0; i < last.w.elements(); ++i)
    last.w.at<float>(i) = operands.w.at<float>(i);
  for (const Isa isa : available_isas())
    expect_reference(last, c, wanted, isa, true, 1, Layout::channels_last);
}

TEST(ConvWinograd, SmallIntegersAreExact) {
  for (const WinogradCase& c : {WinogradCase{2, 24, 48, 7, 8}, WinogradCase{1, 200, 25, 5, 5},
                                WinogradCase{1, 24, 48, 9, 10, {2, 3, 1, 4}, {2, 3}}}) {
    WinogradOperands operands(c);
    fill_integers(operands.x, -99, 99, 1);
    fill_integers(operands.w, -9, 9, 2);
    expect_direct_sums(operands, c);
  }
}

TEST(ConvWinograd, InfinitiesAndNanReachOnlyTheirWindows) {
  for (const std::int64_t dilation : {1, 2}) {
    const WinogradCase c{1, 24, 48, 9, 10, Ints(4, dilation), Ints(2, dilation)};
    WinogradOperands operands(c);
    fill_integers(operands.x, -9, 9, 1);
    fill_integers(operands.w, -3, 3, 2);
    operands.x.at<float>(3 * 90 + 25) = kInfinity;
    operands.x.at<float>(3 * 90 + 77) = -kInfinity;
    operands.x.at<float>(5 * 90 + 79) = kInfinity;
    operands.x.at<float>(9 * 90 + 89) = NAN;
    expect_direct_sums(operands, c);
  }
}

TEST(ConvWinograd, InfiniteWeights) {
  // Over padding, they give NaN.
  const WinogradCase c{1, 24, 48, 5, 6};
  WinogradOperands operands(c);
  fill_integers(operands.x, 1, 9, 1);
  fill_integers(operands.w, -3, 3, 2);
  operands.w.at<float>(7 * 24 * 9 + 3 * 9 + 1) = kInfinity;
  operands.w.at<float>(40 * 24 * 9 + 3 * 9 + 4) = -kInfinity;
  expect_direct_sums(operands, c);
}

TEST(ConvWinograd, TransformsThatOverflow) {
  const WinogradCase c{1, 24, 32, 6, 6};
  WinogradOperands operands(c);
  // Sums of a few products are finite, but differences of elements and sums of weights are not.
  operands.x.fill<float>({0});
  operands.w.fill<float>({0});
  const float large = 0x1p127F;
  for (const std::int64_t at : {0, 7, 14, 21, 28}) operands.x.at<float>(at) = large;
  for (const std::int64_t at : {2, 9, 16, 23, 30}) operands.x.at<float>(at) = -large;
  for (std::int64_t filter = 0; filter < 16; ++filter)
    operands.w.at<float>(filter * 24 * 9 + filter % 9) = 0.5F;
  for (std::int64_t filter = 16; filter < 32; ++filter)
    for (std::int64_t tap = 0; tap < 9; ++tap)
      operands.w.at<float>((filter * 24 + 1) * 9 + tap) = large;
  for (std::int64_t i = 36; i < 72; ++i) operands.x.at<float>(i) = 0x1p-20F;
  expect_direct_sums(operands, c);
}

TEST(ConvWinograd, InputsOfNan) {
  const WinogradCase c{1, 70, 96, 12, 13};
  WinogradOperands operands(c);
  operands.x.fill<float>({NAN});
  expect_direct_sums(operands, c);
}

/// docs/numbers.md states the bound.
TEST(ConvWinograd, TheErrorIsWithinItsBound) {
  for (const std::int64_t channels : {24, 64, 200})
    for (const bool equal_signs : {false, true}) {
      const WinogradCase c{1, channels, 24, 7, 8};
      WinogradOperands operands(c);
      operands.has_bias = false;
      for (Buffer* each : {&operands.x, &operands.w})
        for (std::int64_t i = 0; i < each->elements() && equal_signs; ++i)
          each->at<float>(i) = std::abs(each->at<float>(i));
      const std::vector<float> found = operands.reference(c, active_isa());
      std::vector<double> sums(found.size()), largest(found.size()), weights(found.size());
      for_each_product(operands, c, [&](std::int64_t result, double x, double w) {
        const auto at = static_cast<std::size_t>(result);
        sums[at] += x * w;
        largest[at] = std::max(largest[at], std::abs(x));
        weights[at] += std::abs(w);
      });
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_LE(std::abs(found[i] - sums[i]),
                  16 * (static_cast<double>(channels) + 9) * 0x1p-24 * largest[i] * weights[i]);
    }
}

TEST(ConvWinograd, SmallTypesAreSummedInF32) {
  const WinogradCase c{1, 24, 24, 5, 4};
  WinogradOperands operands(c);
  Buffer x(DType::f16, c.x()), w(DType::f16, c.w()), bias(DType::f16, {24}), y(DType::f16, c.y());
  const auto copy = [](Buffer& from, Buffer& to) {
    for (std::int64_t i = 0; i < from.elements(); ++i)
      to.at<float>(i) = tensor::widen(from.at<tensor::Half>(i));
  };
  unsigned seed = 1;
  for (Buffer* each : {&x, &w, &bias}) each->fill_random(seed++);
  copy(x, operands.x);
  copy(w, operands.w);
  copy(bias, operands.bias);
  Use use = operands.use(y);
  use.inputs = {&x, &w, &bias};
  ASSERT_EQ(run_reference(ops::conv_op, use), "");
  const std::vector<float> sums = operands.reference(c, active_isa());
  for (std::int64_t i = 0; i < y.elements(); ++i)
    ASSERT_EQ(y.at<tensor::Half>(i),
              tensor::narrow<tensor::Half>(sums[static_cast<std::size_t>(i)]));
}

class StopsAfterSomePolls final : public tensor::StopToken {
 public:
  explicit StopsAfterSomePolls(int polls) : polls_(polls) {}

 private:
  bool poll() noexcept override {
    set_stopped(--polls_ < 0);
    return stopped();
  }

  int polls_;
};

TEST(ConvWinograd, StopsBetweenGroupsOfFilters) {
  const WinogradCase c{1, 128, 192, 4, 4};
  WinogradOperands operands(c);
  Buffer y(DType::f32, c.y());
  y.fill<float>({-1});
  StopsAfterSomePolls stop(2);  // before the only task, and before the first group
  Use use = operands.use(y);
  use.stop = &stop;
  EXPECT_EQ(run(use, active_isa()), "stopped");
  EXPECT_NE(y.at<float>(0), -1);
  EXPECT_EQ(y.at<float>(y.elements() - 1), -1);
}

TEST(ConvWinograd, KeepsTheChannelsLast) {
  for (const WinogradCase& c : {WinogradCase{1, 24, 32, 5, 6}, WinogradCase{1, 25, 48, 3, 4}}) {
    Buffer x(DType::f32, c.x()), w(DType::f32, c.w());
    const Isa isa = active_isa();
    EXPECT_EQ(conv_takes_channels_last(x.operand(), w.operand(), c.attrs(), isa),
              isa == Isa::baseline ? ChannelsLast::no : ChannelsLast::either);
  }
}

}  // namespace
}  // namespace scanloom::kernels::testing
