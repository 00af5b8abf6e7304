#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

using Ints = std::vector<std::int64_t>;

// Two spatial axes; pads: of both begins, then of both ends.
struct Case {
  Shape x;
  Ints kernel, stride, dilation, pads;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{1, 2, 7, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {{2, 3, 8, 67}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
      {{1, 2, 9, 50}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
      {{1, 1, 11, 45}, {2, 3}, {1, 3}, {2, 4}, {1, 3, 0, 5}},
      {{1, 3, 1, 5}, {1, 4}, {1, 1}, {1, 1}, {0, 3, 0, 3}},
      {{2, 2, 4, 3}, {2, 5}, {1, 1}, {1, 1}, {1, 2, 1, 2}},
      {{0, 2, 4, 4}, {2, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{1, 130, 30, 30}, {2, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
  };
  return all;
}

std::int64_t out_size(const Case& c, std::size_t axis) {
  const std::int64_t extent = (c.kernel[axis] - 1) * c.dilation[axis] + 1;
  const std::int64_t covered = c.x[static_cast<int>(axis) + 2] + c.pads[axis] + c.pads[axis + 2];
  return (covered - extent) / c.stride[axis] + 1;
}

// f(number of the result's element, numbers of x in the window, positions that the padding covers)
template <class F>
void for_each_window(const Case& c, F&& f) {
  const std::int64_t rows = out_size(c, 0), columns = out_size(c, 1);
  for (std::int64_t o = 0; o < c.x[0] * c.x[1] * rows * columns; ++o) {
    const std::int64_t plane = o / (rows * columns);
    const std::int64_t place[] = {o / columns % rows, o % columns};
    Ints elements;
    std::int64_t covered = 0;
    for (std::int64_t i = 0; i < c.kernel[0]; ++i)
      for (std::int64_t j = 0; j < c.kernel[1]; ++j) {
        const std::int64_t row = place[0] * c.stride[0] - c.pads[0] + i * c.dilation[0];
        const std::int64_t column = place[1] * c.stride[1] - c.pads[1] + j * c.dilation[1];
        covered += row < c.x[2] + c.pads[2] && column < c.x[3] + c.pads[3] ? 1 : 0;
        if (row >= 0 && row < c.x[2] && column >= 0 && column < c.x[3])
          elements.push_back((plane * c.x[2] + row) * c.x[3] + column);
      }
    f(o, elements, covered);
  }
}

std::vector<Attr> attrs_of(const Case& c, std::int64_t own) {
  return {Attr(),       Attr(std::int64_t{0}), Attr(c.dilation), Attr(c.kernel),
          Attr(c.pads), Attr(c.stride),        Attr(own)};
}

template <class T>
void expect_averages(const Case& c, bool with_padding, Isa isa, int threads) {
  Buffer x(dtype_of<T>, c.x), y(dtype_of<T>, {c.x[0], c.x[1], out_size(c, 0), out_size(c, 1)});
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
void expect_maxima(const Case& c, Isa isa, int threads) {
  const Shape result{c.x[0], c.x[1], out_size(c, 0), out_size(c, 1)};
  Buffer x(dtype_of<T>, c.x), y(dtype_of<T>, result), indices(DType::i64, result);
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
                 .outputs = {&y, &indices},
                 .attrs = attrs_of(c, 0)},
                isa, threads),
            "");
  EXPECT_EQ(difference(y, expected), "") << c.x.to_string() << isa_name(isa);
  EXPECT_EQ(difference(indices, numbers), "") << c.x.to_string() << isa_name(isa);
}

TEST(Pool, AveragesHaveTheBitsOfTheNaiveLoop) {
  for (const Isa isa : available_isas())
    for (const Case& c : cases())
      for (const bool with_padding : {false, true})
        for (const int threads : {1, 3}) {
          expect_averages<float>(c, with_padding, isa, threads);
          expect_averages<double>(c, with_padding, isa, threads);
        }
}

TEST(Pool, MaximaAndTheirNumbersAreThoseOfTheNaiveLoop) {
  for (const Isa isa : available_isas())
    for (const Case& c : cases())
      for (const int threads : {1, 3}) {
        expect_maxima<float>(c, isa, threads);
        expect_maxima<double>(c, isa, threads);
        expect_maxima<std::uint8_t>(c, isa, threads);
        expect_maxima<std::int8_t>(c, isa, threads);
      }
}

TEST(Pool, DeclinesWhatIsLeftToTheReference) {
  const Case c = cases()[1];
  const Shape result{2, 3, 4, 33};
  Buffer halves(DType::f16, c.x), averages(DType::f16, result), indices(DType::i64, result);
  EXPECT_EQ(run({.id = KernelId::pool,
                 .inputs = {&halves},
                 .outputs = {&averages},
                 .attrs = attrs_of(c, 0)},
                active_isa()),
            "only f32 and f64, and bytes of maxima");
  EXPECT_EQ(run({.id = KernelId::pool,
                 .inputs = {&halves},
                 .outputs = {&averages, &indices},
                 .attrs = attrs_of(c, 1)},
                active_isa()),
            "elements that are numbered with the first axis fastest");
}

}  // namespace
}  // namespace scanloom::kernels::testing
