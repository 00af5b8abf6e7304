// Indices of maxima and minima: the kernels find what the reference operators find, on every
// instruction set, for sizes around the vector length, any strides, NaN, zeros of both signs and
// ties.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "ops/ops.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

struct ArgSearchCase {
  Shape x;
  int axis;
};

const std::vector<ArgSearchCase>& arg_search_cases() {
  static const std::vector<ArgSearchCase> all = {
      {{1}, 0},       {{7}, 0},        {{16}, 0},      {{63}, 0},       {{64}, 0},
      {{1000}, -1},   {{5, 33}, 1},    {{33, 5}, 0},   {{40, 71}, 0},   {{40, 71}, 1},
      {{64, 64}, -2}, {{4, 9, 30}, 1}, {{4, 9, 6}, 0}, {{3, 1, 70}, 1}, {{2, 65, 1}, 1},
  };
  return all;
}

/// Few different values, so that there are equals; some of them are special.
template <class T>
void fill_few_values(Buffer& x, unsigned seed) {
  std::vector<T> values;
  for (int i = -3; i < 4; ++i) values.push_back(static_cast<T>(i));
  if constexpr (std::is_floating_point_v<T>)
    for (const double special :
         {std::numeric_limits<double>::quiet_NaN(), -0.0, std::numeric_limits<double>::infinity(),
          -std::numeric_limits<double>::infinity()})
      values.push_back(static_cast<T>(special));
  // In most lines the maximum is not a special value.
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const bool special = random() % 16 == 0;
    x.at<T>(i) = values[special ? random() % values.size() : random() % 7];
  }
}

/// Returns the indices that the reference operator finds.
std::vector<std::int64_t> expected_of(Use use) {
  const ir::OpDef& op = use.id == KernelId::argmax ? ops::argmax_op : ops::argmin_op;
  Buffer y(DType::i64, use.outputs[0]->dims());
  use.outputs = {&y};
  EXPECT_EQ(run_reference(op, use), "");
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 0; i < y.elements(); ++i) expected.push_back(y.at<std::int64_t>(i));
  return expected;
}

template <class T>
void expect_found(const ArgSearchCase& c, Layout layout, Isa isa, int threads = 1) {
  for (const bool greatest : {true, false})
    for (const bool last : {false, true})
      for (const bool keep : {false, true}) {
        Shape result = c.x;
        const int axis = c.axis < 0 ? c.axis + c.x.rank() : c.axis;
        if (keep)
          result[axis] = 1;
        else
          result.erase(axis);
        Buffer x(dtype_of<T>, c.x, layout), y(DType::i64, result, layout);
        fill_few_values<T>(x, static_cast<unsigned>(c.x.elements()));
        const Use use{.id = greatest ? KernelId::argmax : KernelId::argmin,
                      .inputs = {&x},
                      .outputs = {&y},
                      .attrs = {Attr(std::int64_t{c.axis}), Attr(std::int64_t{keep}),
                                Attr(std::int64_t{last})}};
        ASSERT_EQ(run(use, isa, threads), "");
        EXPECT_EQ(difference(y, expected_of(use)), "")
            << c.x.to_string() << " axis " << c.axis << ", greatest " << greatest << ", last "
            << last << ", layout " << static_cast<int>(layout) << ", " << isa_name(isa);
      }
}

TEST(ArgSearch, FindsWhatTheReferenceFinds) {
  for (const Isa isa : available_isas())
    for (const ArgSearchCase& c : arg_search_cases())
      for (const Layout layout : kLayouts) {
        expect_found<float>(c, layout, isa);
        expect_found<double>(c, layout, isa);
        expect_found<std::int32_t>(c, layout, isa);
        expect_found<std::int64_t>(c, layout, isa);
      }
}

TEST(ArgSearch, ThreadsDoNotChangeWhatIsFound) {
  for (const int threads : {1, 2, 7})
    expect_found<float>({{9, 50, 700}, 1}, Layout::contiguous, active_isa(), threads);
}

TEST(ArgSearch, DeclinesWhatIsLeftToTheReference) {
  Buffer x(DType::f16, {4}), none(DType::f32, {0, 4}), y(DType::i64, {}), empty(DType::i64, {0});
  Use use{.id = KernelId::argmax,
          .inputs = {&x},
          .outputs = {&y},
          .attrs = {Attr(std::int64_t{0}), Attr(std::int64_t{0}), Attr(std::int64_t{0})}};
  EXPECT_EQ(run(use, active_isa()), "an element type that only the reference kernel takes");
  use.inputs = {&none};
  use.outputs = {&empty};
  use.attrs[0] = Attr(std::int64_t{1});
  EXPECT_EQ(run(use, active_isa()), "an input without elements");
}

}  // namespace
}  // namespace scanloom::kernels::testing
