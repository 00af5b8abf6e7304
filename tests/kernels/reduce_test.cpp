#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/math/math.h"
#include "tensor/scalar_arith.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

/// Sums of at least 256 elements of floating point are taken in 128 bytes of interleaved parts,
/// which are then added up half by half.
template <class T>
T interleaved_sum(const std::vector<T>& terms) {
  std::vector<T> parts(128 / sizeof(T));
  for (std::size_t i = 0; i < terms.size(); ++i) parts[i % parts.size()] += terms[i];
  for (std::size_t half = parts.size() / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) parts[i] += parts[i + half];
  return parts[0];
}

template <class T>
T term(const std::string& kind, T value) {
  if (kind == "sum_square" || kind == "l2") return value * value;
  if (kind == "l1") return value < 0 ? -value : value;
  return value;
}

template <class T>
T reduce(const std::string& kind, const std::vector<T>& values) {
  constexpr bool kReal = std::is_floating_point_v<T>;
  T sum = kind == "prod" ? T{1} : kind == "max" || kind == "min" ? values[0] : T{0};
  for (const T value : values) {
    if (kind == "prod") {
      sum *= value;
    } else if (kind == "max") {
      if constexpr (kReal)
        sum = tensor::arith::maximum(sum, value);
      else
        sum = std::max(sum, value);
    } else if (kind == "min") {
      if constexpr (kReal)
        sum = tensor::arith::minimum(sum, value);
      else
        sum = std::min(sum, value);
    } else {
      sum += term(kind, value);
    }
  }
  if constexpr (kReal) {
    std::vector<T> terms;
    for (const T value : values) terms.push_back(term(kind, value));
    const bool sums = kind != "prod" && kind != "max" && kind != "min";
    if (sums && values.size() >= 256) sum = interleaved_sum(terms);
  }
  if (kind == "mean") return sum / static_cast<T>(values.size());
  if constexpr (kReal) {
    if (kind == "l2") return std::sqrt(sum);
    if (kind == "log_sum") return math::log(sum);
  }
  return sum;
}

struct ReduceCase {
  Shape x;
  Ints axes;
};

const std::vector<ReduceCase>& reduce_cases() {
  static const std::vector<ReduceCase> all = {
      {{}, {}},
      {{1}, {0}},
      {{7}, {0}},
      {{1000}, {-1}},
      {{5, 33}, {1}},
      {{33, 5}, {0}},
      {{40, 70}, {0}},
      {{40, 70}, {1}},
      {{4, 5, 6}, {1}},
      {{4, 5, 6}, {0, 2}},
      {{4, 5, 6}, {0, 1}},
      {{4, 5, 6}, {-1, 1}},
      {{3, 4, 5, 6}, {1, 2}},
      {{0, 5}, {1}},
      {{17, 1, 16}, {0, 1}},
      {{2, 3, 50}, {0, 1, 2}},
      {{16, 7}, {1}},
      {{16, 8}, {1}},
      {{17, 31}, {1}},
      {{32, 33}, {1}},
      {{16, 64}, {1}},
      {{16, 65}, {1}},
      {{3, 40, 70}, {0, 2}},
      {{2, 17, 9, 1}, {2}},
      {{9, 1030}, {0}},
      {{300, 150}, {0}},
      {{3, 130, 40}, {0, 1}},
      {{5, 299}, {1}},
  };
  return all;
}

template <class T>
void expect_reduced(const ReduceCase& c, const std::string& kind, bool keep, Layout layout,
                    int threads = 1) {
  const int rank = c.x.rank();
  const auto reduced = [&](int axis) {
    return std::ranges::any_of(c.axes,
                               [&](std::int64_t given) { return (given + rank) % rank == axis; });
  };
  Shape result;
  std::int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    if (reduced(axis)) count *= c.x[axis];
    if (!reduced(axis) || keep) result.push_back(reduced(axis) ? 1 : c.x[axis]);
  }
  Buffer x(dtype_of<T>, c.x, layout), y(dtype_of<T>, result, layout);
  x.fill_random(1);
  if (kind == "log_sum" || kind == "prod")
    for (std::int64_t i = 0; i < x.elements(); ++i) x.at<T>(i) = std::abs(x.at<T>(i)) / 4 + 1;
  std::vector<std::vector<T>> groups(static_cast<std::size_t>(result.elements()));
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    std::int64_t rest = i, to = 0, scale = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
      if (!reduced(axis)) {
        to += rest % c.x[axis] * scale;
        scale *= c.x[axis];
      }
      rest /= c.x[axis];
    }
    groups[static_cast<std::size_t>(to)].push_back(x.at<T>(i));
  }
  std::vector<T> expected;
  for (const std::vector<T>& group : groups) expected.push_back(reduce(kind, group));
  const Use use{.id = KernelId::reduce,
                .inputs = {&x},
                .outputs = {&y},
                .attrs = {Attr(kind), c.axes.empty() ? Attr() : Attr(c.axes), Attr(keep)}};
  ASSERT_EQ(run(use, active_isa(), threads), "") << kind;
  EXPECT_EQ(difference(y, expected), "") << kind << c.x.to_string() << " count " << count;
}

TEST(Reduce, GivesTheBitsOfTheNaiveLoop) {
  for (const ReduceCase& c : reduce_cases())
    for (const std::string kind : {"sum", "mean", "max", "min", "prod", "sum_square", "l1"})
      for (const bool keep : {false, true})
        for (const Layout layout : kLayouts) {
          expect_reduced<float>(c, kind, keep, layout);
          expect_reduced<double>(c, kind, keep, layout);
          if (kind != "prod") expect_reduced<std::int32_t>(c, kind, keep, layout);
          if (kind != "prod") expect_reduced<std::int64_t>(c, kind, keep, layout);
        }
}

TEST(Reduce, RootsAndLogarithms) {
  for (const ReduceCase& c : reduce_cases())
    for (const std::string kind : {"l2", "log_sum"}) {
      expect_reduced<float>(c, kind, false, Layout::contiguous);
      expect_reduced<double>(c, kind, false, Layout::contiguous);
    }
}

TEST(Reduce, ThreadsDoNotChangeBits) {
  for (const int threads : {1, 2, 7})
    for (const ReduceCase& c : std::vector<ReduceCase>{
             {{9, 50, 700}, {1}}, {{1000, 70}, {0}}, {{200, 700}, {0}}, {{2, 500, 70}, {0, 1}}})
      expect_reduced<float>(c, "sum", false, Layout::contiguous, threads);
}

TEST(Reduce, MinMaxOfNansAndZeros) {
  for (const std::string kind : {"max", "min"})
    for (const std::int64_t where : {0, 1, 40, 99}) {
      Buffer x(DType::f32, {100}), y(DType::f32, {});
      x.fill<float>({0.0f, -0.0f});
      if (where != 0) x.at<float>(where) = NAN;
      const Use use{.id = KernelId::reduce,
                    .inputs = {&x},
                    .outputs = {&y},
                    .attrs = {Attr(kind), Attr(), Attr(false)}};
      ASSERT_EQ(run(use, active_isa()), "");
      if (where != 0)
        EXPECT_TRUE(std::isnan(y.at<float>(0)));
      else
        EXPECT_EQ(std::signbit(y.at<float>(0)), kind == "min");
    }
}

TEST(Reduce, MinMaxOfNansAndZerosInManyRows) {
  constexpr std::int64_t kRows = 33, kColumns = 45;
  for (const std::string kind : {"max", "min"}) {
    Buffer x(DType::f32, {kRows, kColumns}), y(DType::f32, {kRows});
    x.fill<float>({0.0f, -0.0f, -0.0f});
    for (std::int64_t row = 0; row < kRows; row += 3) x.at<float>(row * kColumns + row) = NAN;
    const Use use{.id = KernelId::reduce,
                  .inputs = {&x},
                  .outputs = {&y},
                  .attrs = {Attr(kind), Attr(std::vector<std::int64_t>{1}), Attr(false)}};
    ASSERT_EQ(run(use, active_isa()), "");
    for (std::int64_t row = 0; row < kRows; ++row) {
      const float got = y.at<float>(row);
      EXPECT_EQ(std::isnan(got), row % 3 == 0) << kind << row;
      EXPECT_EQ(std::signbit(got) || row % 3 == 0, kind == "min" || row % 3 == 0) << row;
    }
  }
}

TEST(Reduce, EveryInstructionSetGivesTheSameBits) {
  for (const Isa isa : available_isas()) {
    const Masked masked(isa);
    for (const ReduceCase& c : std::vector<ReduceCase>{
             {{19, 77}, {0}}, {{261, 77}, {0}}, {{40, 63}, {1}}, {{3, 301}, {1}}})
      for (const std::string kind : {"sum", "max", "min", "sum_square", "l1"}) {
        expect_reduced<float>(c, kind, false, Layout::contiguous);
        expect_reduced<double>(c, kind, false, Layout::contiguous);
      }
  }
}

TEST(Reduce, MinMaxOfNansAndZerosAcrossRows) {
  constexpr std::int64_t kRows = 21, kColumns = 45;
  for (const Isa isa : available_isas()) {
    const Masked masked(isa);
    for (const std::string kind : {"max", "min"}) {
      Buffer x(DType::f32, {kRows, kColumns}), y(DType::f32, {kColumns});
      x.fill<float>({0.0f, -0.0f, -0.0f, 0.0f});
      for (std::int64_t j = 0; j < kColumns; j += 3) x.at<float>(j % kRows * kColumns + j) = NAN;
      const Use use{.id = KernelId::reduce,
                    .inputs = {&x},
                    .outputs = {&y},
                    .attrs = {Attr(kind), Attr(std::vector<std::int64_t>{0}), Attr(false)}};
      ASSERT_EQ(run(use, isa), "");
      for (std::int64_t j = 0; j < kColumns; ++j) {
        const float got = y.at<float>(j);
        EXPECT_EQ(std::isnan(got), j % 3 == 0) << kind << j;
        if (j % 3 != 0) {
          EXPECT_EQ(std::signbit(got), kind == "min") << j;
        }
      }
    }
  }
}

TEST(Reduce, DeclinesWhatIsLeftToTheReference) {
  Buffer x(DType::f32, {0}), text(DType::boolean, {2}), y(DType::f32, {}), b(DType::boolean, {});
  Use use{.id = KernelId::reduce,
          .inputs = {&x},
          .outputs = {&y},
          .attrs = {Attr("sum"), Attr(), Attr(false)}};
  EXPECT_EQ(run(use, active_isa()), "a reduction without elements");
  use.attrs[0] = Attr("log_sum_exp");
  EXPECT_EQ(run(use, active_isa()), "a kind of reduction that only the reference kernel takes");
  use.attrs[0] = Attr("max");
  use.inputs = {&text};
  use.outputs = {&b};
  EXPECT_EQ(run(use, active_isa()), "an element type that only the reference kernel takes");
}

}  // namespace
}  // namespace scanloom::kernels::testing
