#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/conv_blocks.h"
#include "kernels/conv_planes.h"
#include "opmath/conv_geometry.h"
#include "opmath/winograd.h"
#include "ops/ops.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

struct ConvCase {
  Shape x, w;
  std::int64_t group = 1;
  Ints stride = {}, dilation = {}, pads = {};
  bool bias = true;
};

std::vector<Attr> attrs_of(const ConvCase& c) {
  const auto list = [](const Ints& ints) { return ints.empty() ? Attr() : Attr(ints); };
  return {Attr(), list(c.dilation), Attr(c.group), list(c.pads), list(c.stride)};
}

struct Geometry {
  int axes;
  Ints out, stride, dilation, pad;
};

Geometry geometry_of(const ConvCase& c) {
  Geometry g;
  g.axes = c.x.rank() - 2;
  const auto axes = static_cast<std::size_t>(g.axes);
  g.stride = c.stride.empty() ? Ints(axes, 1) : c.stride;
  g.dilation = c.dilation.empty() ? Ints(axes, 1) : c.dilation;
  const Ints pads = c.pads.empty() ? Ints(2 * axes, 0) : c.pads;
  g.pad.assign(pads.begin(), pads.begin() + g.axes);
  for (std::size_t i = 0; i < axes; ++i) {
    const int axis = static_cast<int>(i) + 2;
    const std::int64_t reach = (c.w[axis] - 1) * g.dilation[i] + 1;
    g.out.push_back((c.x[axis] + pads[i] + pads[i + axes] - reach) / g.stride[i] + 1);
  }
  return g;
}

// One output element: channels, then kernel positions in row-major order.
template <class T>
T naive_element(const ConvCase& c, const Geometry& g, Buffer& x, Buffer& w, std::int64_t image,
                std::int64_t filter, const Ints& at, Isa isa) {
  const std::int64_t channels = c.w[1], group = filter / (c.w[0] / c.group);
  std::int64_t taps = 1;
  for (int axis = 0; axis < g.axes; ++axis) taps *= c.w[axis + 2];
  T sum = 0;
  for (std::int64_t channel = 0; channel < channels; ++channel)
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      bool inside = true;
      std::int64_t number = 0, rest = tap, scale = 1;
      for (int axis = g.axes - 1; axis >= 0; --axis) {
        const auto i = static_cast<std::size_t>(axis);
        const std::int64_t from =
            at[i] * g.stride[i] - g.pad[i] + rest % c.w[axis + 2] * g.dilation[i];
        inside &= from >= 0 && from < c.x[axis + 2];
        number += from * scale;
        scale *= c.x[axis + 2];
        rest /= c.w[axis + 2];
      }
      number += (image * c.x[1] + group * channels + channel) * scale;
      const T value = inside ? x.at<T>(number) : T{0};
      sum = multiply_add(isa, value, w.at<T>((filter * channels + channel) * taps + tap), sum);
    }
  return sum;
}

/// Whether the sums are taken in the order of opmath/winograd.h.
template <class T>
bool is_winograd(const ConvCase& c) {
  const auto geometry = tensor::conv_geometry(c.x, c.w, attrs_of(c));
  return sizeof(T) == sizeof(float) && geometry && tensor::sums_by_winograd(*geometry);
}

/// Results of the reference, which conv_winograd_test.cpp compares with sums in f64.
std::vector<float> results_of_reference(const ConvCase& c, Buffer& x, Buffer& w, Buffer& bias,
                                        Isa isa) {
  const Masked masked(isa);
  const Geometry g = geometry_of(c);
  Buffer y(DType::f32, {c.x[0], c.w[0], g.out[0], g.out[1]});
  EXPECT_EQ(run_reference(ops::conv_op, {.id = KernelId::conv,
                                         .inputs = {&x, &w, c.bias ? &bias : nullptr},
                                         .outputs = {&y},
                                         .attrs = attrs_of(c)}),
            "");
  std::vector<float> values;
  for (std::int64_t i = 0; i < y.elements(); ++i) values.push_back(y.at<float>(i));
  return values;
}

template <class T>
std::vector<T> expected_results(const ConvCase& c, Buffer& x, Buffer& w, Buffer& bias, Isa isa) {
  if constexpr (sizeof(T) == sizeof(float))
    if (is_winograd<T>(c)) return results_of_reference(c, x, w, bias, isa);
  const Geometry g = geometry_of(c);
  std::vector<T> values;
  std::int64_t positions = 1;
  for (const std::int64_t size : g.out) positions *= size;
  for (std::int64_t image = 0; image < c.x[0]; ++image)
    for (std::int64_t filter = 0; filter < c.w[0]; ++filter)
      for (std::int64_t p = 0; p < positions; ++p) {
        Ints at(g.out.size());
        std::int64_t rest = p;
        for (std::size_t i = g.out.size(); i-- > 0; rest /= g.out[i]) at[i] = rest % g.out[i];
        const T sum = naive_element<T>(c, g, x, w, image, filter, at, isa);
        values.push_back(c.bias ? sum + bias.at<T>(filter) : sum);
      }
  return values;
}

/// Of inputs filled with the seeds 1, 2 and 3. The naive loop takes most of the time of these
/// tests, and its numbers depend on nothing else, so each case is computed once.
template <class T>
const std::vector<T>& expected_once(const ConvCase& c, Buffer& x, Buffer& w, Buffer& bias,
                                    Isa isa) {
  using Key = std::tuple<std::string, std::int64_t, Ints, Ints, Ints, bool, bool>;
  static std::map<Key, std::vector<T>> known;
  const Key key{
      c.x.to_string() + c.w.to_string(), c.group, c.stride, c.dilation, c.pads, c.bias, fuses(isa)};
  const auto [at, is_new] = known.try_emplace(key);
  if (is_new) at->second = expected_results<T>(c, x, w, bias, isa);
  return at->second;
}

template <class T = float>
void expect_conv(const ConvCase& c, Isa isa, bool constant, int threads, Layout layout,
                 Layout y_layout = Layout::contiguous) {
  const Geometry g = geometry_of(c);
  Shape result{c.x[0], c.w[0]};
  for (const std::int64_t size : g.out) result.push_back(size);
  Buffer x(dtype_of<T>, c.x, layout), w(dtype_of<T>, c.w), bias(dtype_of<T>, {c.w[0]});
  Buffer y(dtype_of<T>, result, y_layout);
  x.fill_random(1);
  w.fill_random(2);
  bias.fill_random(3);
  const Use use{.id = KernelId::conv,
                .inputs = {&x, &w, c.bias ? &bias : nullptr},
                .outputs = {&y},
                .attrs = attrs_of(c),
                .constant = {false, constant, constant}};
  ASSERT_EQ(run(use, isa, threads), "");
  EXPECT_EQ(difference(y, expected_once<T>(c, x, w, bias, isa)), "")
      << c.x.to_string() << c.w.to_string() << isa_name(isa);
}

const std::vector<ConvCase>& conv_cases() {
  static const std::vector<ConvCase> all = {
      {.x = {1, 1, 640}, .w = {66, 1, 256}, .stride = {128}},
      {.x = {1, 129, 4}, .w = {40, 129, 3}, .pads = {1, 1}},
      {.x = {1, 32, 4}, .w = {20, 32, 3}, .stride = {2}, .pads = {1, 1}},
      {.x = {2, 8, 1}, .w = {33, 8, 3}, .pads = {1, 1}, .bias = false},
      {.x = {1, 30, 1}, .w = {1, 30, 1}},
      {.x = {3, 4, 100}, .w = {6, 4, 5}, .pads = {4, 0}},
      {.x = {3, 4, 100}, .w = {6, 4, 5}, .stride = {3}, .dilation = {2}, .pads = {7, 9}},
      // Rows of the kernel that meet only padding in some sections of the result.
      {.x = {1, 12, 14, 13}, .w = {32, 12, 3, 3}, .dilation = {12, 6}, .pads = {12, 6, 12, 6}},
      {.x = {2, 24, 9, 17},
       .w = {64, 12, 3, 3},
       .group = 2,
       .stride = {2, 1},
       .dilation = {5, 5},
       .pads = {7, 5, 6, 5}},
      {.x = {1, 40, 120}, .w = {48, 40, 3}, .dilation = {40}, .pads = {80, 0}},
      {.x = {1, 8, 6, 5, 4},
       .w = {32, 8, 3, 2, 2},
       .dilation = {5, 1, 1},
       .pads = {5, 1, 0, 5, 0, 1}},
      {.x = {2, 3, 9, 11}, .w = {5, 3, 3, 2}, .pads = {1, 0, 1, 1}},
      {.x = {2, 4, 12, 13}, .w = {8, 2, 3, 3}, .group = 2, .stride = {2, 1}, .pads = {1, 1, 1, 1}},
      {.x = {1, 6, 10, 10}, .w = {6, 1, 3, 3}, .group = 6, .pads = {1, 1, 1, 1}, .bias = false},
      {.x = {1, 5, 8, 9}, .w = {20, 5, 1, 1}},
      {.x = {1, 5, 8, 9}, .w = {20, 5, 1, 1}, .stride = {2, 2}},
      {.x = {1, 2, 4, 5, 6}, .w = {3, 2, 2, 3, 2}, .stride = {1, 2, 1}, .pads = {1, 0, 2, 0, 1, 0}},
      {.x = {1, 64, 40, 41}, .w = {4, 64, 3, 3}, .pads = {1, 1, 1, 1}},
      {.x = {1, 4, 7}, .w = {80, 2, 4}, .group = 2, .dilation = {2}},
      {.x = {0, 4, 7}, .w = {8, 4, 4}},
      // Single channels over a line, in tiles of many vectors and at the borders.
      {.x = {2, 5, 119, 1}, .w = {5, 1, 20, 1}, .group = 5},
      {.x = {1, 3, 150}, .w = {3, 1, 7}, .group = 3, .dilation = {3}, .bias = false},
      {.x = {1, 3, 1, 200}, .w = {3, 1, 1, 20}, .group = 3, .pads = {0, 3, 0, 5}},
      // The last band is one line of padding.
      {.x = {1, 3, 28, 200}, .w = {3, 1, 1, 20}, .group = 3, .pads = {0, 0, 1, 0}},
      {.x = {1, 2, 28, 512}, .w = {2, 1, 1, 20}, .group = 2, .pads = {0, 0, 1, 0}},
      // Several groups share planes.
      {.x = {2, 6, 11, 10}, .w = {12, 2, 3, 3}, .group = 3, .stride = {3, 2}, .pads = {2, 1, 1, 2}},
      {.x = {1, 5, 4, 5, 6},
       .w = {5, 1, 2, 3, 2},
       .group = 5,
       .stride = {1, 2, 2},
       .pads = {1, 0, 2, 0, 1, 0}},
      // Many filters: panels of windows, in blocks of taps, from planes or from x itself.
      {.x = {1, 110, 23, 25}, .w = {33, 110, 3, 2}, .pads = {1, 1, 1, 1}},
      {.x = {1, 110, 23, 25}, .w = {33, 110, 3, 3}, .pads = {1, 1, 1, 1}},
      {.x = {2, 13, 33, 19}, .w = {37, 13, 3, 3}, .bias = false},
      {.x = {2, 150, 25, 21}, .w = {32, 150, 1, 1}},
      {.x = {1, 20, 600}, .w = {40, 20, 3}, .dilation = {2}},
      {.x = {1, 8, 26, 26}, .w = {66, 4, 3, 3}, .group = 2, .pads = {1, 1, 1, 1}},
      {.x = {1, 12, 61, 20}, .w = {34, 12, 3, 2}, .stride = {2, 1}},
      {.x = {1, 12, 61, 51}, .w = {34, 12, 3, 2}, .stride = {2, 3}, .pads = {1, 0, 1, 1}},
      {.x = {1, 4, 9, 10, 11}, .w = {33, 4, 2, 2, 2}, .dilation = {1, 2, 1}},
      {.x = {1, 20, 300, 5}, .w = {32, 20, 1, 1}, .stride = {2, 1}},
      {.x = {1, 33, 600, 1}, .w = {32, 33, 2, 1}},
      // Few positions: vectors along the filters, in blocks of taps and ranges of positions.
      {.x = {1, 40, 7, 7}, .w = {64, 40, 2, 3}, .pads = {1, 1, 1, 1}},
      {.x = {2, 300, 7, 7}, .w = {33, 300, 1, 1}},
      {.x = {1, 600, 14, 14}, .w = {64, 600, 1, 1}, .bias = false},
      {.x = {1, 130, 14, 13}, .w = {64, 130, 3, 2}, .pads = {1, 1, 1, 1}},
      {.x = {1, 40, 15, 14},
       .w = {96, 20, 3, 3},
       .group = 2,
       .stride = {2, 2},
       .pads = {1, 0, 1, 1}},
      // Blocks of filters: blocks of taps, parts of a vector, pieces of a line and of a band.
      {.x = {1, 260, 6, 5}, .w = {48, 260, 3, 2}, .pads = {1, 1, 1, 1}},
      {.x = {2, 12, 9, 31}, .w = {72, 12, 3, 3}, .stride = {1, 2}, .pads = {1, 1, 1, 1}},
      {.x = {1, 40, 1100}, .w = {32, 40, 3}, .dilation = {2}, .pads = {0, 3}, .bias = false},
      {.x = {1, 24, 50, 12}, .w = {96, 12, 3, 3}, .group = 2, .pads = {1, 1, 1, 1}},
      {.x = {2, 100, 17, 9}, .w = {40, 100, 1, 1}},
      // Windows far outside the input.
      {.x = {1, 2, 3, 4}, .w = {3, 2, 2, 2}, .stride = Ints(2, 1 << 30), .pads = Ints(4, 1 << 30)},
      {.x = {1, 2, 3, 4},
       .w = {3, 2, 2, 2},
       .dilation = Ints(2, 1 << 30),
       .pads = Ints(4, 1 << 29)},
  };
  return all;
}

TEST(Conv, GivesTheBitsOfTheNaiveLoop) {
  for (const Isa isa : available_isas())
    for (const ConvCase& c : conv_cases())
      for (const bool constant : {false, true}) {
        expect_conv(c, isa, constant, 1, Layout::contiguous);
        expect_conv<double>(c, isa, constant, 1, Layout::contiguous);
      }
}

// max(result + residual, floor) * scale, where scale has an element per filter.
template <class T>
tensor::ScalarProgram residual_program() {
  using tensor::ScalarOp;
  tensor::ScalarProgram program;
  program.inputs = {dtype_of<T>, dtype_of<T>, dtype_of<T>, dtype_of<T>};
  program.append({.op = ScalarOp::add, .dtype = dtype_of<T>, .args = {0, 1, -1}});
  program.append({.op = ScalarOp::max, .dtype = dtype_of<T>, .args = {4, 2, -1}});
  program.append({.op = ScalarOp::mul, .dtype = dtype_of<T>, .args = {5, 3, -1}});
  program.results = {6};
  return program;
}

template <class T>
void expect_epilogue(const ConvCase& c, Isa isa, int threads, Layout layout = Layout::contiguous) {
  const Geometry g = geometry_of(c);
  Shape result{c.x[0], c.w[0]}, per_filter{c.w[0]};
  for (const std::int64_t size : g.out) {
    result.push_back(size);
    per_filter.push_back(1);
  }
  Buffer x(dtype_of<T>, c.x, layout), w(dtype_of<T>, c.w), bias(dtype_of<T>, {c.w[0]});
  Buffer residual(dtype_of<T>, result, layout), least(dtype_of<T>, {1}),
      scale(dtype_of<T>, per_filter);
  Buffer y(dtype_of<T>, result, layout);
  unsigned seed = 1;
  for (Buffer* each : {&x, &w, &bias, &residual, &scale}) each->fill_random(seed++);
  least.fill<T>({T{-0.25}});
  std::vector<T> wanted = expected_once<T>(c, x, w, bias, isa);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t filter = at / (y.elements() / c.x[0] / c.w[0]) % c.w[0];
    wanted[i] = std::max(wanted[i] + residual.at<T>(at), T{-0.25}) * scale.at<T>(filter);
  }
  const tensor::ScalarProgram program = residual_program<T>();
  const Use use{.id = KernelId::conv,
                .inputs = {&x, &w, c.bias ? &bias : nullptr, &residual, &least, &scale},
                .outputs = {&y},
                .attrs = attrs_of(c),
                .program = &program,
                .constant = {false, true, false, false, false, true}};
  ASSERT_EQ(run(use, isa, threads), "");
  EXPECT_EQ(difference(y, wanted), "") << c.x.to_string() << c.w.to_string() << isa_name(isa);
}

// Groups of one channel and one filter: tiles of several rows, of a vector, two or half a one.
std::vector<ConvCase> cases_of_single_channels() {
  std::vector<ConvCase> all;
  const auto append = [&](const Ints& size, const Ints& kernel, const Ints& stride,
                          const Ints& dilation, const Ints& pads) {
    all.push_back({.x = {2, 3, size[0], size[1]},
                   .w = {3, 1, kernel[0], kernel[1]},
                   .group = 3,
                   .stride = stride,
                   .dilation = dilation,
                   .pads = pads,
                   .bias = size[0] % 2 == 0});
  };
  const Ints once{1, 1};
  for (const Ints& size : {Ints{7, 7}, Ints{6, 14}, Ints{15, 40}, Ints{24, 70}})
    for (const Ints& kernel : {Ints{3, 3}, Ints{5, 5}, Ints{1, 3}, Ints{4, 1}, Ints{2, 7}})
      for (const Ints& stride : {once, Ints{2, 2}, Ints{1, 2}, Ints{3, 1}, Ints{2, 3}})
        for (const Ints& pads : {Ints{0, 0, 0, 0}, Ints{1, 1, 1, 1}, Ints{0, 2, 3, 4}})
          if (kernel[0] <= size[0] + pads[0] + pads[2]) append(size, kernel, stride, once, pads);
  for (const Ints& size : {Ints{20, 30}, Ints{33, 33}, Ints{24, 70}})
    for (const Ints& dilation : {Ints{2, 3}, Ints{1, 2}, Ints{2, 1}, Ints{3, 3}, Ints{6, 5}}) {
      append(size, {3, 3}, once, dilation, {dilation[0], dilation[1], dilation[0], dilation[1]});
      append(size, {3, 3}, once, dilation, {0, 0, 0, 0});
    }
  append({20, 30}, {3, 3}, {2, 2}, {2, 1}, {2, 0, 2, 3});
  append({20, 30}, {3, 3}, {2, 2}, {1, 2}, {2, 0, 2, 3});
  append({20, 90}, {2, 31}, once, once, {0, 15, 1, 15});
  append({20, 90}, {2, 33}, once, once, {0, 15, 1, 15});
  append({8, 8}, {3, 3}, once, once, {40, 50, 60, 70});
  return all;
}

// The same over one axis, or the first of two.
std::vector<ConvCase> cases_of_single_lines() {
  std::vector<ConvCase> all;
  for (const std::int64_t size : {7, 40, 119})
    for (const std::int64_t kernel : {1, 3, 7, 20, 33})
      for (const std::int64_t stride : {1, 2, 3})
        for (const std::int64_t dilation : {1, 2})
          for (const Ints& pads : {Ints{0, 0}, Ints{3, 3}, Ints{19, 0}}) {
            if ((kernel - 1) * dilation >= size + pads[0] + pads[1]) continue;
            all.push_back({.x = {2, 5, size},
                           .w = {5, 1, kernel},
                           .group = 5,
                           .stride = {stride},
                           .dilation = {dilation},
                           .pads = pads,
                           .bias = kernel % 2 == 1});
            all.push_back({.x = {2, 5, size, 1},
                           .w = {5, 1, kernel, 1},
                           .group = 5,
                           .stride = {stride, 1},
                           .dilation = {dilation, 1},
                           .pads = {pads[0], 0, pads[1], 0},
                           .bias = kernel % 2 == 1});
          }
  return all;
}

TEST(Conv, SingleChannels) {
  std::vector<ConvCase> cases = cases_of_single_channels();
  std::ranges::move(cases_of_single_lines(), std::back_inserter(cases));
  for (const ConvCase& c : cases) {
    for (const Isa isa : available_isas()) {
      expect_conv(c, isa, true, 1, Layout::contiguous);
      expect_conv<double>(c, isa, true, 1, Layout::contiguous);
    }
    expect_conv(c, active_isa(), false, 1, Layout::gapped);
    expect_epilogue<float>(c, active_isa(), 2);
  }
}

// Rows of x are copied in blocks of columns and bands of rows. The last ones are too far apart.
TEST(Conv, SingleChannelsWithStrides) {
  const auto two = [](const Ints& x, const Ints& w, const Ints& stride, const Ints& dilation,
                      const Ints& pads) {
    return ConvCase{.x = {1, 2, x[0], x[1]},
                    .w = {2, 1, w[0], w[1]},
                    .group = 2,
                    .stride = stride,
                    .dilation = dilation,
                    .pads = pads};
  };
  const std::vector<ConvCase> cases = {
      two({11, 1100}, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}),
      two({5, 1040}, {3, 31}, {1, 2}, {1, 1}, {0, 30, 1, 9}),
      two({200, 60}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}),
      two({200, 300}, {4, 3}, {3, 1}, {5, 2}, {9, 1, 0, 4}),
      two({300, 300}, {3, 3}, {40, 2}, {1, 1}, {1, 1, 1, 1}),
      two({60, 90}, {3, 3}, {2, 1}, {1, 20}, {1, 1, 1, 1}),
  };
  for (const ConvCase& c : cases)
    for (const Isa isa : available_isas())
      for (const int threads : {1, 3}) {
        expect_conv(c, isa, true, threads, Layout::contiguous);
        expect_conv<double>(c, isa, false, threads, Layout::contiguous);
        expect_epilogue<float>(c, isa, threads);
      }
}

TEST(Conv, StridedInput) {
  for (const ConvCase& c : conv_cases())
    for (const Layout layout : {Layout::transposed, Layout::gapped, Layout::reversed}) {
      expect_conv(c, active_isa(), true, 1, layout);
      expect_conv<double>(c, active_isa(), true, 1, layout);
    }
}

template <class T>
ChannelsLast takes_channels_last(const ConvCase& c, Isa isa) {
  Buffer x(dtype_of<T>, c.x), w(dtype_of<T>, c.w);
  return conv_takes_channels_last(x.operand(), w.operand(), attrs_of(c), isa);
}

// What blocks of filters finish themselves: a product and a sum with constants per filter, the sum
// with a residual, and the greater of that and 0; each may be missing.
struct Finish {
  bool scale = true, shift = true, residual = true, clamps = true;
  bool again = false;  ///< the product and the sum, twice
};

template <class T>
tensor::ScalarProgram program_of(const Finish& f) {
  using tensor::ScalarOp;
  constexpr DType kType = dtype_of<T>;
  tensor::ScalarProgram program;
  program.inputs = {kType, kType, kType, kType};
  std::int32_t at = 0;
  const std::int32_t zero = program.append({.op = ScalarOp::constant, .dtype = kType});
  if (f.scale) at = program.append({.op = ScalarOp::mul, .dtype = kType, .args = {at, 2, -1}});
  if (f.shift) at = program.append({.op = ScalarOp::add, .dtype = kType, .args = {3, at, -1}});
  if (f.again && f.scale)
    at = program.append({.op = ScalarOp::mul, .dtype = kType, .args = {2, at, -1}});
  if (f.again && f.shift)
    at = program.append({.op = ScalarOp::add, .dtype = kType, .args = {at, 3, -1}});
  if (f.residual) at = program.append({.op = ScalarOp::add, .dtype = kType, .args = {at, 1, -1}});
  if (f.clamps) at = program.append({.op = ScalarOp::max, .dtype = kType, .args = {at, zero, -1}});
  program.results = {at};
  return program;
}

template <class T>
void expect_finish(const ConvCase& c, const Finish& f, Isa isa, Layout layout, int threads) {
  const Geometry g = geometry_of(c);
  Shape result{c.x[0], c.w[0]}, per_filter{c.w[0]};
  for (const std::int64_t size : g.out) {
    result.push_back(size);
    per_filter.push_back(1);
  }
  Buffer x(dtype_of<T>, c.x, layout), w(dtype_of<T>, c.w), bias(dtype_of<T>, {c.w[0]});
  Buffer residual(dtype_of<T>, result, layout), y(dtype_of<T>, result, layout);
  Buffer scale(dtype_of<T>, per_filter), shift(dtype_of<T>, per_filter);
  unsigned seed = 1;
  for (Buffer* each : {&x, &w, &bias, &residual, &scale, &shift}) each->fill_random(seed++);
  std::vector<T> wanted = expected_once<T>(c, x, w, bias, isa);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t filter = at / (y.elements() / c.x[0] / c.w[0]) % c.w[0];
    // The sums of some are NaN, of others -0, where no other result depends on the element.
    if (f.residual && i % 11 == 3) residual.at<T>(at) = static_cast<T>(NAN);
    volatile T value = wanted[i];
    if (f.scale) value = value * scale.at<T>(filter);
    if (f.shift) value = value + shift.at<T>(filter);
    if (f.again && f.scale) value = value * scale.at<T>(filter);
    if (f.again && f.shift) value = value + shift.at<T>(filter);
    if (f.residual && i % 13 == 5) residual.at<T>(at) = -value;
    if (f.residual) value = value + residual.at<T>(at);
    if (f.clamps && !(value > 0) && value == value) value = 0;
    wanted[i] = value;
  }
  const tensor::ScalarProgram program = program_of<T>(f);
  const Use use{.id = KernelId::conv,
                .inputs = {&x, &w, c.bias ? &bias : nullptr, &residual, &scale, &shift},
                .outputs = {&y},
                .attrs = attrs_of(c),
                .program = &program,
                .constant = {false, true, false, false, true, true}};
  ASSERT_EQ(run(use, isa, threads), "");
  EXPECT_EQ(difference(y, wanted), "") << c.x.to_string() << c.w.to_string() << isa_name(isa);
}

// Activations that blocks of filters compute on their sums.
enum class Curve : std::uint8_t {
  limits,
  limits_from_above,
  line,
  gate,
  divided_gate,
  hard_swish,
  swish_of_openvino,
  hard_sigmoid,
  leak
};

template <class T>
tensor::ScalarProgram program_of(Curve curve) {
  using tensor::ScalarOp;
  constexpr DType kType = dtype_of<T>;
  tensor::ScalarProgram program;
  program.inputs = {kType, kType, kType};
  const auto number = [&](T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return program.append({.op = ScalarOp::constant, .dtype = kType, .bits = bits});
  };
  const auto two = [&](ScalarOp op, std::int32_t a, std::int32_t b) {
    return program.append({.op = op, .dtype = kType, .args = {a, b, -1}});
  };
  const std::int32_t x = two(ScalarOp::mul, 0, 2);  // the scale, one per filter
  std::int32_t at = x;
  switch (curve) {
    case Curve::limits:
      at = two(ScalarOp::min, two(ScalarOp::max, x, number(T{-0.5})), number(1));
      break;
    case Curve::limits_from_above:
      at = two(ScalarOp::min, x, 1);  // a constant of a single element
      break;
    case Curve::line:
    case Curve::gate:
      at = two(ScalarOp::add, two(ScalarOp::mul, number(T{0.3}), x), number(T{0.5}));
      at = two(ScalarOp::max, two(ScalarOp::min, at, number(1)), number(0));
      if (curve == Curve::gate) at = two(ScalarOp::mul, x, at);
      break;
    case Curve::divided_gate:
      at = two(ScalarOp::max, two(ScalarOp::add, x, number(T{0.5})), number(0));
      at = two(ScalarOp::mul, two(ScalarOp::min, at, number(T{0.75})), x);
      at = two(ScalarOp::div, at, number(T{0.75}));
      break;
    case Curve::hard_swish:
    case Curve::swish_of_openvino:
    case Curve::hard_sigmoid:
      at = two(ScalarOp::min, two(ScalarOp::max, two(ScalarOp::add, x, number(3)), number(0)),
               number(6));
      if (curve == Curve::hard_swish) at = two(ScalarOp::mul, at, x);
      at = two(ScalarOp::div, at, number(6));
      if (curve == Curve::swish_of_openvino) at = two(ScalarOp::mul, x, at);
      break;
    case Curve::leak: {
      const std::int32_t below = two(ScalarOp::mul, number(T{0.1}), x);
      const std::int32_t is_below = two(ScalarOp::less, x, number(0));
      at = program.append({.op = ScalarOp::select, .dtype = kType, .args = {is_below, below, x}});
    }
  }
  program.results = {at};
  return program;
}

template <class T>
T on_curve(Curve curve, T x) {
  const auto limited = [](T v, T low, T high) { return v > high ? high : v <= low ? low : v; };
  volatile T line = T{0.3} * x;
  line = line + T{0.5};
  switch (curve) {
    case Curve::limits:
      return limited(x, T{-0.5}, 1);
    case Curve::limits_from_above:
      return x > T{0.75} ? T{0.75} : x;
    case Curve::line:
      return limited(line, 0, 1);
    case Curve::gate:
      return x * limited(line, 0, 1);
    case Curve::divided_gate:
      line = limited(x + T{0.5}, 0, T{0.75}) * x;
      return line / T{0.75};
    case Curve::hard_swish:
    case Curve::swish_of_openvino:
    case Curve::hard_sigmoid:
      line = x + T{3};
      line = limited(line, 0, 6) * (curve == Curve::hard_swish ? x : 1);
      line = line / T{6};
      return curve == Curve::swish_of_openvino ? line * x : line;
    case Curve::leak:
      return x < 0 ? T{0.1} * x : x;
  }
  return x;
}

template <class T>
void expect_curve(const ConvCase& c, Curve curve, Isa isa, Layout layout) {
  const Geometry g = geometry_of(c);
  Shape result{c.x[0], c.w[0]}, per_filter{c.w[0]};
  for (const std::int64_t size : g.out) result.push_back(size), per_filter.push_back(1);
  Buffer x(dtype_of<T>, c.x, layout), w(dtype_of<T>, c.w), bias(dtype_of<T>, {c.w[0]});
  Buffer high(dtype_of<T>, {1}), scale(dtype_of<T>, per_filter), y(dtype_of<T>, result, layout);
  unsigned seed = 1;
  for (Buffer* each : {&x, &w, &bias}) each->fill_random(seed++);
  high.fill<T>({T{0.75}});
  scale.fill_random(4);
  scale.at<T>(1) = static_cast<T>(NAN);
  scale.at<T>(2) = 0;  // some sums become -0
  scale.at<T>(3) = T{1e-30F};
  scale.at<T>(4) = static_cast<T>(INFINITY);
  std::vector<T> wanted = expected_once<T>(c, x, w, bias, isa);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::int64_t filter =
        static_cast<std::int64_t>(i) / (y.elements() / c.x[0] / c.w[0]) % c.w[0];
    volatile T scaled = wanted[i] * scale.at<T>(filter);
    wanted[i] = on_curve<T>(curve, scaled);
  }
  const tensor::ScalarProgram program = program_of<T>(curve);
  const Use use{.id = KernelId::conv,
                .inputs = {&x, &w, c.bias ? &bias : nullptr, &high, &scale},
                .outputs = {&y},
                .attrs = attrs_of(c),
                .program = &program,
                .constant = {false, true, false, true, true}};
  ASSERT_EQ(run(use, isa, 1), "");
  EXPECT_EQ(difference(y, wanted), "")
      << c.x.to_string() << c.w.to_string() << isa_name(isa) << " " << static_cast<int>(curve);
}

TEST(Conv, BlocksComputeActivations) {
  const std::vector<ConvCase> cases = {
      {.x = {2, 24, 9, 31}, .w = {80, 24, 2, 3}, .pads = {1, 1, 1, 1}},
      {.x = {2, 24, 9, 31}, .w = {80, 24, 3, 3}, .pads = {1, 1, 1, 1}},
      {.x = {1, 600, 9, 8}, .w = {32, 600, 1, 1}, .bias = false},
      {.x = {1, 48, 9, 13}, .w = {48, 1, 3, 3}, .group = 48, .pads = {1, 1, 1, 1}},
  };
  for (const ConvCase& c : cases)
    for (const Isa isa : available_isas())
      for (const Curve curve :
           {Curve::limits, Curve::limits_from_above, Curve::line, Curve::gate, Curve::divided_gate,
            Curve::hard_swish, Curve::swish_of_openvino, Curve::hard_sigmoid, Curve::leak})
        for (const Layout layout : {Layout::contiguous, Layout::channels_last}) {
          if (layout == Layout::channels_last &&
              takes_channels_last<float>(c, isa) == ChannelsLast::no)
            continue;
          expect_curve<float>(c, curve, isa, layout);
          if (isa != Isa::baseline || layout == Layout::contiguous)
            expect_curve<double>(c, curve, isa, layout);
        }
}

TEST(Conv, BlocksFinishTheirSums) {
  const std::vector<ConvCase> cases = {
      {.x = {2, 24, 9, 31}, .w = {80, 24, 2, 3}, .pads = {1, 1, 1, 1}},
      {.x = {2, 24, 9, 31}, .w = {80, 24, 3, 3}, .pads = {1, 1, 1, 1}},
      {.x = {1, 600, 9, 8}, .w = {32, 600, 1, 1}, .bias = false},
      // Idle filters in the last vector, if channels come first.
      {.x = {1, 40, 9, 8}, .w = {72, 40, 3, 2}},
      {.x = {1, 40, 9, 8}, .w = {72, 40, 3, 3}},
      {.x = {1, 40, 15, 14}, .w = {64, 20, 3, 3}, .group = 2, .pads = {1, 1, 1, 1}},
      {.x = {1, 48, 9, 13}, .w = {48, 1, 3, 3}, .group = 48, .pads = {1, 1, 1, 1}},
      // Rows of the kernel that meet only padding.
      {.x = {1, 24, 9, 8},
       .w = {64, 24, 3, 3},
       .dilation = {6, 6},
       .pads = {6, 6, 6, 6},
       .bias = false},
  };
  for (const ConvCase& c : cases)
    for (const Isa isa : available_isas())
      for (int bits = 0; bits < 32; ++bits) {
        const Finish f{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0,
                       (bits & 16) != 0};
        if (bits == 0) continue;                   // the convolution's result itself
        if (f.again && (bits & 3) == 0) continue;  // nothing twice
        expect_finish<float>(c, f, isa, Layout::contiguous, 1);
        expect_finish<double>(c, f, isa, Layout::contiguous, 1);
        if (takes_channels_last<float>(c, isa) == ChannelsLast::no) continue;
        expect_finish<float>(c, f, isa, Layout::channels_last, 1);
        expect_finish<double>(c, f, isa, Layout::channels_last, 3);
      }
}

// Channels last in x, in the result, or in both.
template <class T>
void expect_channels_last(const ConvCase& c, Isa isa, int threads) {
  const ChannelsLast takes = takes_channels_last<T>(c, isa);
  if (takes == ChannelsLast::no) return;
  if (takes == ChannelsLast::either || takes == ChannelsLast::input)
    expect_conv<T>(c, isa, true, threads, Layout::channels_last);
  if (takes == ChannelsLast::input) return;
  if (takes == ChannelsLast::either)
    expect_conv<T>(c, isa, true, threads, Layout::contiguous, Layout::channels_last);
  expect_conv<T>(c, isa, true, threads, Layout::channels_last, Layout::channels_last);
  expect_epilogue<T>(c, isa, threads, Layout::channels_last);
}

std::vector<ConvCase> cases_of_channels_last() {
  std::vector<ConvCase> all{
      {.x = {2, 24, 9, 31}, .w = {64, 24, 2, 3}, .pads = {1, 1, 1, 1}},
      {.x = {2, 24, 9, 31}, .w = {64, 24, 3, 3}, .pads = {1, 1, 1, 1}},
      {.x = {1, 17, 13, 12}, .w = {48, 17, 3, 2}, .stride = {2, 3}, .pads = {1, 0, 2, 1}},
      {.x = {1, 17, 13, 12}, .w = {16, 17, 3, 3}, .dilation = {2, 1}, .pads = {2, 0, 1, 3}},
      {.x = {2, 40, 15, 14}, .w = {80, 40, 1, 1}, .stride = {2, 2}},
      {.x = {1, 40, 15, 14}, .w = {80, 40, 1, 1}, .stride = {2, 2}, .pads = {1, 3, 2, 4}},
      {.x = {1, 40, 15, 14}, .w = {32, 40, 1, 3}, .stride = {3, 1}, .pads = {0, 1, 0, 1}},
      {.x = {2, 40, 15, 14}, .w = {64, 20, 3, 3}, .group = 2, .pads = {1, 1, 1, 1}},
      {.x = {1, 20, 600}, .w = {48, 20, 3}, .pads = {1, 1}, .bias = false},
      {.x = {1, 6, 5, 7, 8}, .w = {32, 6, 2, 3, 2}, .pads = {1, 0, 1, 0, 1, 0}},
      {.x = {1, 600, 4, 5}, .w = {32, 600, 3, 2}, .pads = {1, 1, 1, 1}},
      // Filters that do not fill the vectors of the last block, or of the only one.
      {.x = {2, 24, 9, 31}, .w = {72, 24, 2, 3}, .pads = {1, 1, 1, 1}},
      {.x = {1, 40, 15, 14}, .w = {100, 40, 1, 1}, .bias = false},
      {.x = {2, 72, 9, 13}, .w = {72, 1, 3, 3}, .group = 72, .pads = {1, 1, 1, 1}},
      {.x = {1, 40, 15, 14}, .w = {24, 40, 2, 3}, .pads = {1, 1, 0, 1}},
      // Positions that are a multiple of 4096 bytes apart.
      {.x = {1, 1024, 7, 7}, .w = {32, 1024, 1, 1}},
      {.x = {1, 512, 9, 8}, .w = {32, 512, 1, 1}, .stride = {2, 2}},
      // Filters with a channel each: padded, in place, of several vectors, blocks and bands.
      {.x = {2, 48, 9, 13}, .w = {48, 1, 3, 3}, .group = 48, .pads = {1, 1, 1, 1}},
      {.x = {1, 16, 9, 13}, .w = {16, 1, 3, 2}, .group = 16, .stride = {2, 2}, .bias = false},
      {.x = {1, 176, 40, 31},
       .w = {176, 1, 5, 5},
       .group = 176,
       .stride = {2, 1},
       .pads = {2, 1, 2, 3}},
      {.x = {1, 128, 14, 14},
       .w = {128, 1, 3, 3},
       .group = 128,
       .dilation = {2, 2},
       .pads = {2, 2, 2, 2}},
      {.x = {1, 32, 700}, .w = {32, 1, 9}, .group = 32, .pads = {4, 4}},
      {.x = {1, 32, 5, 6}, .w = {32, 1, 1, 1}, .group = 32},
      // A result of several pieces, with weights that are more than the cache takes.
      {.x = {1, 520, 5, 6}, .w = {576, 520, 1, 1}, .bias = false},
  };
  all.insert(all.end(), conv_cases().begin(), conv_cases().end());
  return all;
}

TEST(Conv, ChannelsLast) {
  int taken = 0;
  for (const ConvCase& c : cases_of_channels_last()) {
    for (const Isa isa : available_isas()) {
      expect_channels_last<float>(c, isa, 1);
      expect_channels_last<double>(c, isa, 1);
    }
    expect_channels_last<float>(c, active_isa(), 7);
    taken += takes_channels_last<float>(c, active_isa()) == ChannelsLast::no ? 0 : 1;
  }
  // SSE 4.2 has no broadcasting load, so that blocks are slower than other ways.
  EXPECT_GE(taken, conv_block_fns<float>(active_isa()).broadcasts ? 23 : 0);
}

TEST(Conv, ThreadsDoNotChangeBits) {
  const ConvCase large{.x = {3, 16, 50, 50}, .w = {24, 8, 3, 3}, .group = 2, .pads = {1, 1, 1, 1}};
  const ConvCase one{.x = {1, 300, 9}, .w = {256, 300, 3}, .pads = {1, 1}};
  const ConvCase many{.x = {1, 60, 31, 33}, .w = {100, 60, 3, 2}, .pads = {1, 1, 1, 1}};
  const ConvCase pointwise{.x = {1, 60, 31, 33}, .w = {100, 60, 1, 1}};
  const ConvCase single{.x = {1, 2, 90, 90}, .w = {2, 1, 5, 5}, .group = 2, .pads = {2, 2, 2, 2}};
  const ConvCase small{.x = {1, 99, 20, 20}, .w = {99, 1, 3, 3}, .group = 99, .stride = {2, 2}};
  const ConvCase few{.x = {1, 64, 14, 14}, .w = {64, 64, 3, 2}, .pads = {1, 1, 1, 1}};
  const ConvCase parts{.x = {1, 64, 14, 14}, .w = {176, 64, 3, 2}, .pads = {1, 1, 1, 1}};
  const ConvCase winograd{.x = {1, 64, 30, 30}, .w = {64, 64, 3, 3}, .pads = {1, 1, 1, 1}};
  for (const ConvCase& c : {large, one, many, pointwise, single, small, few, parts, winograd})
    for (const int threads : {1, 2, 7}) {
      expect_conv(c, active_isa(), true, threads, Layout::contiguous);
      expect_conv<double>(c, active_isa(), true, threads, Layout::contiguous);
    }
}

TEST(Conv, ComputesWhatFollows) {
  for (const Isa isa : available_isas())
    for (const ConvCase& c : conv_cases()) {
      expect_epilogue<float>(c, isa, 1);
      expect_epilogue<double>(c, isa, 1);
    }
  const ConvCase trimmed{
      .x = {2, 3, 5, 5}, .w = {7, 3, 3, 3}, .dilation = {6, 6}, .pads = {6, 6, 6, 6}};
  const ConvCase large{.x = {3, 16, 50, 50}, .w = {24, 8, 3, 3}, .group = 2, .pads = {1, 1, 1, 1}};
  const ConvCase many{.x = {1, 60, 31, 33}, .w = {100, 60, 3, 2}, .pads = {1, 1, 1, 1}};
  const ConvCase pointwise{.x = {1, 60, 31, 33}, .w = {20, 60, 1, 1}};
  const ConvCase one{.x = {1, 300, 9}, .w = {256, 300, 3}, .pads = {1, 1}};
  const ConvCase winograd{.x = {1, 64, 30, 30}, .w = {160, 64, 3, 3}, .pads = {1, 1, 1, 1}};
  for (const ConvCase& c : {trimmed, large, many, pointwise, one, winograd})
    for (const int threads : {1, 2, 7}) expect_epilogue<float>(c, active_isa(), threads);
}

TEST(Conv, TapsThatMeetOnlyPaddingAreLeftOut) {
  const std::vector<ConvCase> cases = {
      {.x = {2, 3, 14, 14}, .w = {7, 3, 3, 3}, .dilation = {12, 12}, .pads = {12, 12, 12, 12}},
      {.x = {2, 3, 14, 14}, .w = {7, 3, 3, 3}, .dilation = {36, 36}, .pads = {36, 36, 36, 36}},
      {.x = {1, 4, 6, 9}, .w = {4, 1, 5, 3}, .group = 4, .dilation = {4, 1}, .pads = {8, 1, 8, 1}},
      {.x = {1, 2, 3}, .w = {3, 2, 4}, .stride = {2}, .dilation = {3}, .pads = {9, 2}},
  };
  for (const ConvCase& c : cases)
    for (const Isa isa : available_isas())
      for (const bool constant : {false, true}) {
        expect_conv(c, isa, constant, 1, Layout::contiguous);
        expect_conv<double>(c, isa, constant, 2, Layout::contiguous);
      }
}

TEST(Conv, MoreTapsThanATableHolds) {
  const std::int64_t taps = (1 << 20) + 1;
  expect_conv({.x = {1, 1, taps + 1}, .w = {2, 1, taps}}, active_isa(), true, 1,
              Layout::contiguous);
}

TEST(Conv, DeclinesOtherTypes) {
  Buffer x(DType::f16, {1, 1, 2}), w(DType::f16, {1, 1, 2}), y(DType::f16, {1, 1, 1});
  EXPECT_EQ(run({.id = KernelId::conv,
                 .inputs = {&x, &w},
                 .outputs = {&y},
                 .attrs = {Attr(), Attr(), Attr(), Attr(), Attr()}},
                active_isa()),
            "only f32 and f64");
}

}  // namespace
}  // namespace scanloom::kernels::testing
