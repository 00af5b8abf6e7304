#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

// Returns the index of the element of an axis of `size` at `position`, found one step at a time, or
// -1 if there is none.
std::int64_t walk(std::int64_t position, std::int64_t size, const std::string& mode) {
  while (position < 0 || position >= size) {
    if (mode == "constant") return -1;
    if (mode == "edge") return position < 0 ? 0 : size - 1;
    if (mode == "wrap")
      position += position < 0 ? size : -size;
    else if (size == 1)
      return 0;
    else
      position = position < 0 ? -position : 2 * size - 2 - position;
  }
  return position;
}

struct PadCase {
  Shape x;
  std::vector<std::int64_t> begins, ends;
};

void expect_padded(const PadCase& c, const std::string& mode, bool value, Layout in, Layout to,
                   int threads = 1) {
  const int rank = c.x.rank();
  Shape result;
  for (int i = 0; i < rank; ++i)
    result.push_back(c.x[i] + c.begins[static_cast<std::size_t>(i)] +
                     c.ends[static_cast<std::size_t>(i)]);
  Buffer x(DType::f32, c.x, in), pads(DType::i64, {2 * rank}), number(DType::f32, {}),
      y(DType::f32, result, to);
  x.fill_random(1);
  std::vector<std::int64_t> both = c.begins;
  both.insert(both.end(), c.ends.begin(), c.ends.end());
  pads.fill(both);
  number.fill<float>({2.5f});
  const Use use{.id = KernelId::pad,
                .inputs = {&x, &pads, value ? &number : nullptr},
                .outputs = {&y},
                .attrs = {Attr(mode)},
                .constant = {false, true}};
  ASSERT_EQ(run(use, active_isa(), threads), "");
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    std::int64_t rest = i, from = 0, scale = 1;
    bool outside = false;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const std::int64_t at =
          walk(rest % result[axis] - c.begins[static_cast<std::size_t>(axis)], c.x[axis], mode);
      outside |= at < 0;
      from += at * scale;
      scale *= c.x[axis];
      rest /= result[axis];
    }
    ASSERT_EQ(y.at<float>(i), outside ? (value ? 2.5f : 0.0f) : x.at<float>(from)) << mode << i;
  }
  EXPECT_TRUE(y.untouched_between());
}

TEST(Pad, AllModes) {
  const std::vector<PadCase> cases = {{{5}, {2}, {3}},
                                      {{1}, {3}, {0}},
                                      {{7}, {-2}, {4}},
                                      {{7}, {-3}, {-3}},
                                      {{1, 640}, {0, 0}, {0, 64}},
                                      {{3, 4}, {1, 2}, {2, 1}},
                                      {{2, 3, 4}, {1, 0, -1}, {0, 5, 2}}};
  for (const PadCase& c : cases)
    for (const std::string mode : {"constant", "reflect", "edge", "wrap"})
      for (const bool value : {false, true})
        for (const Layout in : kLayouts)
          for (const Layout to : kLayouts) expect_padded(c, mode, value, in, to);
}

TEST(Pad, LargeResultsOnSeveralThreads) {
  for (const std::string mode : {"constant", "reflect"})
    for (const Layout layout : kLayouts)
      expect_padded({{13, 6, 1100}, {2, 1, 3}, {0, 2, 7}}, mode, true, layout, Layout::contiguous,
                    7);
}

TEST(Pad, NegativePadsBeyondX) {
  expect_padded({{3}, {-5}, {9}}, "constant", true, Layout::contiguous, Layout::contiguous);
  expect_padded({{3}, {9}, {-5}}, "constant", true, Layout::contiguous, Layout::contiguous);
}

TEST(Pad, LongAxesNeedNoTables) {
  constexpr std::int64_t kLong = std::int64_t{5} << 20;  // more elements than margins may have
  expect_padded({{kLong}, {3}, {2}}, "reflect", false, Layout::contiguous, Layout::contiguous);
  expect_padded({{3}, {2}, {kLong}}, "constant", true, Layout::contiguous, Layout::contiguous);
}

TEST(Pad, DeclinesVeryWideMargins) {
  constexpr std::int64_t kWide = std::int64_t{5} << 20;
  Buffer x(DType::u8, {2}), pads(DType::i64, {2}), y(DType::u8, {kWide + 2});
  pads.fill(std::vector<std::int64_t>{0, kWide});
  EXPECT_EQ(run({.id = KernelId::pad,
                 .inputs = {&x, &pads},
                 .outputs = {&y},
                 .attrs = {Attr("edge")},
                 .constant = {false, true}},
                active_isa()),
            "very wide margins");
}

TEST(Pad, DeclinesAnEmptyResult) {
  Buffer x(DType::f32, {1, 1}), pads(DType::i64, {4}), y(DType::f32, {9, 0});
  pads.fill(std::vector<std::int64_t>{0, 0, 8, -1});
  EXPECT_EQ(run({.id = KernelId::pad,
                 .inputs = {&x, &pads},
                 .outputs = {&y},
                 .attrs = {Attr("constant")},
                 .constant = {false, true}},
                active_isa()),
            "no elements to compute");
}

TEST(Pad, DeclinesPadsThatAreNotConstant) {
  Buffer x(DType::f32, {2}), pads(DType::i64, {2}), y(DType::f32, {2});
  EXPECT_EQ(
      run({.id = KernelId::pad, .inputs = {&x, &pads}, .outputs = {&y}, .attrs = {Attr("edge")}},
          active_isa()),
      "pads that are not constant");
}

}  // namespace
}  // namespace scanloom::kernels::testing
