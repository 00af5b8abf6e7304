#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

struct Transposed {
  Shape x, w;
  std::int64_t group = 1;
  Ints stride = {}, dilation = {}, pads = {}, extra = {};
  bool bias = true;

  [[nodiscard]] std::size_t axes() const { return static_cast<std::size_t>(x.rank()) - 2; }
  [[nodiscard]] std::int64_t of(const Ints& list, std::size_t axis, std::int64_t missing) const {
    return list.empty() ? missing : list[axis];
  }
  [[nodiscard]] Shape result() const {
    Shape y{x[0], w[1] * group};
    for (std::size_t i = 0; i < axes(); ++i) {
      const int axis = static_cast<int>(i) + 2;
      y.push_back((x[axis] - 1) * of(stride, i, 1) + (w[axis] - 1) * of(dilation, i, 1) + 1 +
                  of(extra, i, 0) - of(pads, i, 0) - of(pads, i + axes(), 0));
    }
    return y;
  }
};

std::int64_t row_major(const Shape& sizes, const Ints& index) {
  std::int64_t number = 0;
  for (int axis = 0; axis < sizes.rank(); ++axis)
    number = number * sizes[axis] + index[static_cast<std::size_t>(axis)];
  return number;
}

Ints index_of(const Shape& sizes, std::int64_t number) {
  Ints index(static_cast<std::size_t>(sizes.rank()));
  for (auto i = index.size(); i-- > 0; number /= sizes[static_cast<int>(i)])
    index[i] = number % sizes[static_cast<int>(i)];
  return index;
}

// One element of the result: kernel positions in row-major order, then channels.
template <class T>
T sum_at(const Transposed& c, Buffer& x, Buffer& w, const Ints& at, Isa isa) {
  Shape kernel;
  for (int axis = 2; axis < c.w.rank(); ++axis) kernel.push_back(c.w[axis]);
  const std::int64_t channels = c.x[1] / c.group, group = at[1] / c.w[1];
  T sum = 0;
  for (std::int64_t tap = 0; tap < kernel.elements(); ++tap) {
    const Ints k = index_of(kernel, tap);
    Ints from{at[0], 0}, weight{0, at[1] % c.w[1]};
    bool meets = true, inside = true;
    for (std::size_t i = 0; i < c.axes(); ++i) {
      const std::int64_t distance = at[i + 2] + c.of(c.pads, i, 0) - k[i] * c.of(c.dilation, i, 1);
      meets &= distance % c.of(c.stride, i, 1) == 0;
      from.push_back(distance / c.of(c.stride, i, 1));
      inside &= distance >= 0 && from.back() < c.x[static_cast<int>(i) + 2];
      weight.push_back(k[i]);
    }
    for (std::int64_t channel = group * channels; meets && channel < (group + 1) * channels;
         ++channel) {
      from[1] = weight[0] = channel;
      const T factor = w.at<T>(row_major(c.w, weight));
      if (inside || std::isfinite(factor))
        sum = multiply_add(isa, inside ? x.at<T>(row_major(c.x, from)) : T{0}, factor, sum);
    }
  }
  return sum;
}

template <class T = float>
void expect_transposed(const Transposed& c, Isa isa, bool constant, int threads = 1,
                       Layout layout = Layout::contiguous, T one_weight = 0) {
  Buffer x(dtype_of<T>, c.x, layout), w(dtype_of<T>, c.w, layout), y(dtype_of<T>, c.result());
  Buffer bias(dtype_of<T>, {c.result()[1]});
  x.fill_random(1);
  w.fill_random(2);
  bias.fill_random(3);
  if (one_weight != 0) w.at<T>(0) = one_weight;
  const auto list = [](const Ints& ints) { return ints.empty() ? Attr() : Attr(ints); };
  const Use use{.id = KernelId::conv_transpose,
                .inputs = {&x, &w, c.bias ? &bias : nullptr},
                .outputs = {&y},
                .attrs = {Attr(), list(c.dilation), Attr(c.group), list(c.extra), Attr(),
                          list(c.pads), list(c.stride)},
                .constant = {false, constant}};
  ASSERT_EQ(run(use, isa, threads), "");
  std::vector<T> expected;
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const Ints at = index_of(c.result(), i);
    const T sum = sum_at<T>(c, x, w, at, isa);
    expected.push_back(c.bias ? sum + bias.at<T>(at[1]) : sum);
  }
  EXPECT_EQ(difference(y, expected), "")
      << c.x.to_string() << c.w.to_string() << isa_name(isa) << " " << threads;
}

const std::vector<Transposed>& transposed_cases() {
  static const std::vector<Transposed> all = {
      {.x = {1, 3, 5}, .w = {3, 4, 3}},
      {.x = {2, 3, 50}, .w = {3, 7, 4}, .stride = {2}, .pads = {1, 1}},
      {.x = {1, 8, 33}, .w = {8, 5, 16}, .stride = {8}, .pads = {4, 4}, .bias = false},
      {.x = {1, 4, 9}, .w = {4, 3, 2}, .stride = {5}, .extra = {3}},
      {.x = {1, 70, 150}, .w = {70, 50, 16}, .stride = {8}, .pads = {4, 4}},
      {.x = {1, 4, 70}, .w = {4, 3, 7}, .stride = {3}, .pads = {1, 1}},
      {.x = {1, 4, 9}, .w = {4, 3, 3}, .stride = {2}, .dilation = {3}, .pads = {2, 1}},
      {.x = {1, 4, 40}, .w = {4, 1, 5}, .group = 4, .stride = {4}, .pads = {7, 9}},
      {.x = {1, 6, 7, 9}, .w = {6, 5, 2, 2}, .stride = {2, 2}},
      // Windows that do not overlap: results are computed in pairs.
      {.x = {2, 20, 5, 37}, .w = {20, 7, 2, 2}, .stride = {2, 2}, .bias = false},
      {.x = {1, 6, 300}, .w = {6, 10, 2}, .stride = {2}},
      {.x = {1, 6, 41}, .w = {6, 8, 2}, .stride = {2}, .pads = {2, 0}},
      {.x = {1, 6, 41}, .w = {6, 8, 2}, .stride = {2}, .pads = {1, 1}},
      {.x = {1, 6, 41}, .w = {6, 8, 2}, .stride = {2}, .extra = {1}},
      {.x = {1, 12, 9, 20}, .w = {12, 3, 3, 4}, .group = 4, .stride = {3, 2}, .dilation = {1, 1}},
      {.x = {1, 4, 3, 4, 18},
       .w = {4, 9, 1, 2, 2},
       .stride = {1, 2, 2},
       .pads = {0, 0, 0, 0, 1, 0}},
      {.x = {2, 4, 5, 6}, .w = {4, 3, 3, 4}, .group = 2, .stride = {2, 1}, .pads = {1, 0, 0, 2}},
      {.x = {1, 16, 3, 33}, .w = {16, 1, 3, 3}, .group = 16, .pads = {1, 1, 1, 1}},
      {.x = {1, 2, 4, 5, 6},
       .w = {2, 3, 2, 3, 2},
       .stride = {1, 2, 3},
       .pads = {1, 0, 2, 0, 1, 0},
       .extra = {0, 1, 2}},
      // A result between the elements, and one smaller than x.
      {.x = {1, 1, 3}, .w = {1, 1, 1}, .stride = {4}, .pads = {1, 1}},
      {.x = {1, 2, 20}, .w = {2, 2, 3}, .pads = {9, 8}},
  };
  return all;
}

TEST(ConvTranspose, GivesTheBitsOfTheNaiveLoop) {
  for (const Isa isa : available_isas())
    for (const Transposed& c : transposed_cases())
      for (const bool constant : {false, true}) {
        expect_transposed(c, isa, constant);
        expect_transposed<double>(c, isa, constant);
      }
}

TEST(ConvTranspose, StridedOperands) {
  for (const Transposed& c : transposed_cases())
    for (const Layout layout : {Layout::transposed, Layout::gapped, Layout::reversed})
      for (const bool constant : {false, true})
        expect_transposed(c, active_isa(), constant, 1, layout);
}

TEST(ConvTranspose, ThreadsDoNotChangeBits) {
  const Transposed image{.x = {2, 24, 30, 31}, .w = {24, 30, 2, 3}, .stride = {2, 2}};
  const Transposed line{.x = {1, 64, 300}, .w = {64, 32, 16}, .stride = {8}, .pads = {4, 4}};
  const Transposed group{.x = {1, 64, 300}, .w = {64, 8, 5}, .group = 8, .stride = {2}};
  for (const Transposed& c : {image, line, group})
    for (const int threads : {1, 2, 7}) expect_transposed(c, active_isa(), true, threads);
}

TEST(ConvTranspose, WeightsThatAreNotFiniteMeetNoPadding) {
  const Transposed c{.x = {1, 2, 6}, .w = {2, 3, 4}, .stride = {2}, .pads = {1, 1}};
  expect_transposed<float>(c, active_isa(), false, 1, Layout::contiguous, INFINITY);
  expect_transposed<double>(c, active_isa(), false, 1, Layout::contiguous, NAN);
}

class StopsAtTheSecondPoll final : public tensor::StopToken {
 private:
  bool poll() noexcept override {
    set_stopped(++polls_ > 1);
    return stopped();
  }

  int polls_ = 0;
};

TEST(ConvTranspose, StopsBetweenFiltersIfWeightsAreNotFinite) {
  Buffer x(DType::f32, {1, 1, 2}), w(DType::f32, {1, 2, 2}), y(DType::f32, {1, 2, 3});
  x.fill<float>({1});
  w.fill<float>({INFINITY, 1, 1, 1});
  y.fill<float>({-1});
  StopsAtTheSecondPoll stop;
  EXPECT_EQ(run({.id = KernelId::conv_transpose,
                 .inputs = {&x, &w},
                 .outputs = {&y},
                 .attrs = {Attr(), Attr(), Attr(), Attr(), Attr(), Attr(), Attr()},
                 .stop = &stop},
                active_isa()),
            "stopped");
  EXPECT_EQ(y.at<float>(2), 1);
  EXPECT_EQ(y.at<float>(3), -1);
}

TEST(ConvTranspose, DeclinesMoreThanATableHolds) {
  const std::int64_t taps = (1 << 20) + 1;
  Buffer x(DType::f32, {1, 1, 1}), w(DType::f32, {1, 1, taps}), y(DType::f32, {1, 1, taps});
  EXPECT_EQ(run({.id = KernelId::conv_transpose,
                 .inputs = {&x, &w},
                 .outputs = {&y},
                 .attrs = {Attr(), Attr(), Attr(), Attr(), Attr(), Attr(), Attr()}},
                active_isa()),
            "too many taps or lines");
}

TEST(ConvTranspose, DeclinesOtherTypes) {
  Buffer x(DType::f16, {1, 1, 2}), w(DType::f16, {1, 1, 2}), y(DType::f16, {1, 1, 3});
  EXPECT_EQ(run({.id = KernelId::conv_transpose,
                 .inputs = {&x, &w},
                 .outputs = {&y},
                 .attrs = {Attr(), Attr(), Attr(), Attr(), Attr(), Attr(), Attr()}},
                active_isa()),
            "only f32 and f64");
}

}  // namespace
}  // namespace scanloom::kernels::testing
