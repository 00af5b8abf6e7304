#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "kernels/pool_layout.h"
#include "opmath/pool_geometry.h"
#include "ops/ops.h"
#include "tensor/scalar_eval.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

// Two spatial axes; pads: of both begins, then of both ends.
struct PoolCase {
  Shape x;
  Ints kernel, stride, dilation, pads;
};

const std::vector<PoolCase>& pool_cases() {
  static const std::vector<PoolCase> all = {
      {{1, 2, 7, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {{2, 3, 8, 67}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
      {{1, 2, 9, 50}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
      {{1, 1, 11, 45}, {2, 3}, {1, 3}, {2, 4}, {1, 3, 0, 5}},
      {{1, 3, 1, 5}, {1, 4}, {1, 1}, {1, 1}, {0, 3, 0, 3}},
      {{2, 2, 4, 3}, {2, 5}, {1, 1}, {1, 1}, {1, 2, 1, 2}},
      {{0, 2, 4, 4}, {2, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{1, 130, 30, 30}, {2, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      // Short lines, many planes, windows that padding fills, and bands of a large plane.
      {{2, 9, 6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {{1, 20, 13, 13}, {3, 3}, {2, 2}, {1, 1}, {0, 1, 1, 1}},
      {{1, 5, 9, 129}, {1, 4}, {1, 4}, {1, 1}, {0, 2, 0, 0}},
      {{1, 3, 300, 19}, {5, 2}, {2, 1}, {3, 1}, {4, 1, 4, 0}},
  };
  return all;
}

std::int64_t out_size(const PoolCase& c, std::size_t axis) {
  const std::int64_t extent = (c.kernel[axis] - 1) * c.dilation[axis] + 1;
  const std::int64_t covered = c.x[static_cast<int>(axis) + 2] + c.pads[axis] + c.pads[axis + 2];
  return (covered - extent) / c.stride[axis] + 1;
}

// f(number of the result's element, numbers of x in the window, positions that the padding covers)
template <class F>
void for_each_window(const PoolCase& c, F&& f) {
  const std::int64_t rows = out_size(c, 0), columns = out_size(c, 1);
  for (std::int64_t o = 0; o < c.x[0] * c.x[1] * rows * columns; ++o) {
    const std::int64_t plane = o / (rows * columns);
    const std::int64_t position[] = {o / columns % rows, o % columns};
    Ints elements;
    std::int64_t covered = 0;
    for (std::int64_t i = 0; i < c.kernel[0]; ++i)
      for (std::int64_t j = 0; j < c.kernel[1]; ++j) {
        const std::int64_t row = position[0] * c.stride[0] - c.pads[0] + i * c.dilation[0];
        const std::int64_t column = position[1] * c.stride[1] - c.pads[1] + j * c.dilation[1];
        covered += row < c.x[2] + c.pads[2] && column < c.x[3] + c.pads[3] ? 1 : 0;
        if (row >= 0 && row < c.x[2] && column >= 0 && column < c.x[3])
          elements.push_back((plane * c.x[2] + row) * c.x[3] + column);
      }
    f(o, elements, covered);
  }
}

std::vector<Attr> attrs_of(const PoolCase& c, std::int64_t own) {
  return {Attr(),       Attr(std::int64_t{0}), Attr(c.dilation), Attr(c.kernel),
          Attr(c.pads), Attr(c.stride),        Attr(own)};
}

template <class T>
void expect_averages(const PoolCase& c, bool with_padding, Isa isa, int threads,
                     Layout layout = Layout::contiguous) {
  Buffer x(dtype_of<T>, c.x, layout);
  Buffer y(dtype_of<T>, {c.x[0], c.x[1], out_size(c, 0), out_size(c, 1)}, layout);
  x.fill_random(1);
  if (x.elements() > 40) x.at<T>(37) = static_cast<T>(NAN);
  std::vector<T> expected;
  for_each_window(c, [&](std::int64_t, const Ints& elements, std::int64_t covered) {
    T sum = 0;
    for (const std::int64_t i : elements) sum += x.at<T>(i);
    const auto count = static_cast<std::int64_t>(elements.size());
    expected.push_back(sum / static_cast<T>(with_padding ? covered : count));
  });
  ASSERT_EQ(run({.id = KernelId::pool,
                 .inputs = {&x},
                 .outputs = {&y},
                 .attrs = attrs_of(c, with_padding ? 1 : 0)},
                isa, threads),
            "");
  EXPECT_EQ(difference(y, expected), "") << c.x.to_string() << isa_name(isa);
}

// Among few numbers there are many equal ones, of which the first counts.
template <class T>
void expect_maxima(const PoolCase& c, Isa isa, int threads, Layout layout = Layout::contiguous) {
  const Shape result{c.x[0], c.x[1], out_size(c, 0), out_size(c, 1)};
  const bool numbered = layout == Layout::contiguous;
  Buffer x(dtype_of<T>, c.x, layout), y(dtype_of<T>, result, layout), indices(DType::i64, result);
  x.fill<T>({3, 1, 2, 3, 0, 0, 5, 5, 1, 7, 7});
  constexpr bool kReal = std::is_floating_point_v<T>;
  if (kReal)
    for (std::int64_t i = 5; i < x.elements(); i += 41) {
      x.at<T>(i) = static_cast<T>(i % 2 == 0 ? NAN : -INFINITY);
      x.at<T>(i - 1) = static_cast<T>(i % 3 == 0 ? -0.0 : -INFINITY);
    }
  std::vector<T> expected;
  Ints numbers;
  for_each_window(c, [&](std::int64_t, const Ints& elements, std::int64_t) {
    T best = kReal ? static_cast<T>(-INFINITY) : std::numeric_limits<T>::min();
    std::int64_t number = -1;
    for (const std::int64_t i : elements) {
      const T value = x.at<T>(i);
      if (number >= 0 && !(value > best || (value != value && best == best))) continue;
      best = value;
      number = i;
    }
    expected.push_back(best);
    numbers.push_back(number);
  });
  ASSERT_EQ(run({.id = KernelId::pool,
                 .inputs = {&x},
                 .outputs = {&y, numbered ? &indices : nullptr},
                 .attrs = attrs_of(c, 0)},
                isa, threads),
            "");
  EXPECT_EQ(difference(y, expected), "") << c.x.to_string() << isa_name(isa);
  if (!numbered) return;
  EXPECT_EQ(difference(indices, numbers), "") << c.x.to_string() << isa_name(isa);
}

TEST(Pool, AveragesHaveTheBitsOfTheNaiveLoop) {
  for (const Isa isa : available_isas())
    for (const PoolCase& c : pool_cases())
      for (const bool with_padding : {false, true})
        for (const int threads : {1, 3}) {
          expect_averages<float>(c, with_padding, isa, threads);
          expect_averages<double>(c, with_padding, isa, threads);
        }
}

TEST(Pool, ChannelsLast) {
  const std::vector<PoolCase> cases = {
      {{1, 32, 7, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {{2, 48, 8, 67}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
      {{1, 16, 9, 50}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
      {{1, 64, 11, 45}, {2, 3}, {1, 3}, {2, 4}, {1, 3, 0, 5}},
      {{1, 80, 1, 5}, {1, 4}, {1, 1}, {1, 1}, {0, 3, 0, 3}},
      {{2, 64, 7, 7}, {7, 7}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{1, 16, 4, 4}, {2, 2}, {1, 1}, {1, 1}, {6, 7, 5, 6}},
  };
  for (const Isa isa : available_isas())
    for (const PoolCase& c : cases)
      for (const int threads : {1, 3}) {
        ASSERT_TRUE(pool_takes_channels_last(c.x, DType::f32, attrs_of(c, 0)));
        expect_averages<float>(c, false, isa, threads, Layout::channels_last);
        expect_averages<double>(c, true, isa, threads, Layout::channels_last);
        expect_maxima<float>(c, isa, threads, Layout::channels_last);
        expect_maxima<double>(c, isa, threads, Layout::channels_last);
      }
}

TEST(Pool, MaximaAndTheirNumbersAreThoseOfTheNaiveLoop) {
  for (const Isa isa : available_isas())
    for (const PoolCase& c : pool_cases())
      for (const int threads : {1, 3}) {
        expect_maxima<float>(c, isa, threads);
        expect_maxima<double>(c, isa, threads);
        expect_maxima<std::uint8_t>(c, isa, threads);
        expect_maxima<std::int8_t>(c, isa, threads);
      }
}

// Any number of axes; pads: all begins, then all ends.
struct Windows {
  Shape x;
  Ints kernel, stride, dilation, pads;
  bool ceil = false;
};

// Around the lengths of vectors and blocks, strides with and without vectors, windows beyond x.
std::vector<Windows> windows() {
  std::vector<Windows> all = {
      {{1, 2, 5, 4100}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {{1, 1, 3, 5000}, {2, 2}, {2, 2}, {1, 1}, {0, 1, 0, 1}},
      {{1, 40, 14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {{2, 1, 120, 90}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
      {{1, 2, 20, 20}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
      {{1, 2, 20, 20}, {13, 13}, {1, 1}, {1, 1}, {6, 6, 6, 6}},
      {{1, 2, 19, 33}, {5, 4}, {1, 2}, {2, 3}, {4, 5, 4, 3}},
      {{1, 2, 15, 17}, {7, 7}, {7, 7}, {1, 1}, {3, 3, 3, 3}, true},
      {{2, 2, 5, 6, 35}, {2, 3, 3}, {1, 2, 2}, {1, 1, 1}, {1, 1, 1, 0, 1, 1}},
      {{1, 1, 3, 4, 5, 6}, {2, 2, 2, 2}, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 0, 1, 0, 0, 1, 0, 1}},
      {{1, 3, 9}, {3}, {1}, {4}, {0, 0}},
      {{1, 2, 200}, {70}, {1}, {1}, {0, 0}},
      {{1, 2, 200}, {3}, {9}, {1}, {1, 1}},
      {{1, 1, 90, 8}, {70, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{1, 1, 4, 4}, {2, 2}, {1, 1}, {1, 1}, {6, 7, 5, 6}},
      {{1, 1, 2, 3}, {2, 2}, {5, 5}, {1, 1}, {20, 30, 20, 30}, true},
      {{1, 1, 4, 9}, {2, 3}, {1, 1}, {9000, 5000}, {9000, 10000, 0, 0}},
      {{1, 2, 0, 4}, {2, 2}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
  };
  for (std::int64_t width = 1; width <= 40; ++width)
    for (const std::int64_t stride : {1, 2, 3})
      all.push_back({{1, 1, 3, width}, {2, 3}, {1, stride}, {1, 1}, {0, 1, 1, 1}});
  return all;
}

struct Pooled {
  const ir::OpDef* op;
  DType dtype;
  Attr own;
  bool numbered = false;
};

std::vector<Pooled> pooled() {
  std::vector<Pooled> all;
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    all.push_back({&ops::average_pool_op, dtype, Attr(0)});
    all.push_back({&ops::average_pool_op, dtype, Attr(1)});
    all.push_back({&ops::lp_pool_op, dtype, Attr(1.0)});
    all.push_back({&ops::lp_pool_op, dtype, Attr(2.0)});
  }
  for (const DType dtype :
       {DType::f32, DType::f64, DType::f16, DType::bf16, DType::u8, DType::i8}) {
    all.push_back({&ops::max_pool_op, dtype, Attr(0)});
    all.push_back({&ops::max_pool_op, dtype, Attr(0), true});
  }
  return all;
}

/// Numbers of which many are equal, and some special.
void fill_with_ties(Buffer& x, bool with_nan) {
  x.fill_random(5);
  const std::vector<double> special = {0.0, -0.0, -INFINITY, 1e-40, -3, -3, with_nan ? NAN : 7};
  for (std::int64_t i = 0; i < x.elements() && is_floating_point(x.dtype()); ++i) {
    if (i % 5 > 2) continue;
    const double value = special[static_cast<std::size_t>(i * i + i / 7) % special.size()];
    const std::uint64_t bits = tensor::scalar_bits(value, x.dtype());
    std::memcpy(x.element(i), &bits, dtype_bytes(x.dtype()));
  }
}

/// Compares the kernel's results on every instruction set and number of threads with the reference.
void expect_pooled_as_reference(const Pooled& pooled, const Windows& c, bool with_nan) {
  const std::vector<Attr> attrs = {Attr(),       Attr(c.ceil),   Attr(c.dilation), Attr(c.kernel),
                                   Attr(c.pads), Attr(c.stride), pooled.own};
  const auto geometry = tensor::pool_geometry(c.x, attrs);
  ASSERT_TRUE(geometry) << c.x.to_string();
  Shape result{c.x[0], c.x[1]};
  for (int i = 0; i < geometry->spatial; ++i)
    result.push_back(geometry->axes[static_cast<std::size_t>(i)].out);
  Buffer x(pooled.dtype, c.x), expected(pooled.dtype, result);
  Buffer expected_indices(DType::i64, result);
  fill_with_ties(x, with_nan);
  const bool maximum = pooled.op == &ops::max_pool_op;
  Use plain{.id = KernelId::pool, .inputs = {&x}, .outputs = {&expected}, .attrs = attrs};
  if (maximum) plain.outputs.push_back(&expected_indices);
  ASSERT_EQ(run_reference(*pooled.op, plain), "");
  const auto expect_kernel = [&](Isa isa, int threads) {
    Buffer y(pooled.dtype, result), indices(DType::i64, result);
    Use use{.id = KernelId::pool, .inputs = {&x}, .outputs = {&y}, .attrs = attrs};
    if (maximum) use.outputs.push_back(pooled.numbered ? &indices : nullptr);
    const std::string why_not = run(use, isa, threads);
    if (why_not == "an element type that only the reference kernel takes" ||
        why_not == "planes of 10^9 elements or more")
      return;
    ASSERT_EQ(why_not, "");
    const auto position = [&](std::int64_t i) {
      return std::string(pooled.op->name) + " of " + std::string(dtype_name(pooled.dtype)) +
             c.x.to_string() + " on " + std::string(isa_name(isa)) + ", element " +
             std::to_string(i);
    };
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      ASSERT_TRUE(same_bits(pooled.dtype, y.element(i), expected.element(i))) << position(i);
      if (!pooled.numbered) continue;
      ASSERT_EQ(indices.at<std::int64_t>(i), expected_indices.at<std::int64_t>(i)) << position(i);
    }
    EXPECT_TRUE(y.untouched_between()) << position(-1);
  };
  for (const Isa isa : available_isas())
    for (const int threads : {1, 3})
      if (threads == 1 || c.x.elements() >= 1000) expect_kernel(isa, threads);
}

TEST(Pool, HasTheBitsOfTheReference) {
  for (const Pooled& pooled : pooled())
    for (const Windows& c : windows())
      for (const bool with_nan : {false, true}) {
        expect_pooled_as_reference(pooled, c, with_nan);
        if (HasFatalFailure()) return;
      }
}

// The kernels accept all of these; other windows are so large or wide that the reference may run
// them.
TEST(Pool, TakesTheUsualWindowsOfAllTypes) {
  const Windows c{{1, 2, 9, 30}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}};
  for (const Pooled& pooled : pooled()) {
    if (pooled.numbered) continue;
    Buffer x(pooled.dtype, c.x), y(pooled.dtype, {1, 2, 5, 15});
    x.fill_random(1);
    Use use{.id = KernelId::pool,
            .inputs = {&x},
            .outputs = {&y},
            .attrs = {Attr(), Attr(0), Attr(c.dilation), Attr(c.kernel), Attr(c.pads),
                      Attr(c.stride), pooled.own}};
    if (pooled.op == &ops::max_pool_op) use.outputs.push_back(nullptr);
    EXPECT_EQ(run(use, active_isa()), "") << pooled.op->name << dtype_name(pooled.dtype);
  }
}

// Attributes whose sizes and products exceed any memory.
TEST(Pool, HostileWindowsNeedNoMemory) {
  constexpr std::int64_t kHuge = (std::int64_t{1} << 31) - 1;
  for (const Windows& c :
       {Windows{{1, 1, 3, 8}, {kHuge, kHuge}, {1, 1}, {1, 1}, {kHuge - 2, kHuge - 2, 0, 0}},
        Windows{{1, 1, 3, 8}, {3, 3}, {kHuge, kHuge}, {kHuge, kHuge}, {kHuge, kHuge, kHuge, kHuge}},
        Windows{{1, 1, 3, 8}, {2, 2}, {1, 1}, {kHuge - 1, 4000}, {kHuge - 3, 4000, 0, 0}}}) {
    for (const Pooled& pooled : pooled()) expect_pooled_as_reference(pooled, c, false);
  }
}

TEST(Pool, DeclinesWhatIsLeftToTheReference) {
  const PoolCase c = pool_cases()[1];
  const Shape result{2, 3, 4, 33};
  Buffer values(DType::f16, c.x), maxima(DType::f16, result), indices(DType::i64, result);
  const auto why_not = [&](std::vector<Buffer*> outputs, const Attr& own) {
    std::vector<Attr> attrs = attrs_of(c, 0);
    attrs.back() = own;
    return run(
        {.id = KernelId::pool, .inputs = {&values}, .outputs = std::move(outputs), .attrs = attrs},
        active_isa());
  };
  EXPECT_EQ(why_not({&maxima, &indices}, Attr(0)),
            "an element type that only the reference kernel takes");
  EXPECT_EQ(why_not({&maxima, &indices}, Attr(1)),
            "elements that are numbered with the first axis fastest");
  EXPECT_EQ(why_not({&maxima}, Attr(3.0)), "a norm of an order other than 1 and 2");
}

}  // namespace
}  // namespace scanloom::kernels::testing
