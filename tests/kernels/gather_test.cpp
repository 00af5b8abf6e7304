#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

struct Case {
  Shape data, indices;
  int axis;
};

template <class Index>
void expect_gathered(const Case& c, Layout in, Layout to) {
  const int along = c.axis < 0 ? c.axis + c.data.rank() : c.axis;
  Shape result;
  std::int64_t inner = 1, count = c.indices.elements();
  for (int i = 0; i < along; ++i) result.push_back(c.data[i]);
  for (int i = 0; i < c.indices.rank(); ++i) result.push_back(c.indices[i]);
  for (int i = along + 1; i < c.data.rank(); ++i) {
    result.push_back(c.data[i]);
    inner *= c.data[i];
  }
  const std::int64_t size = c.data[along];
  Buffer data(DType::f32, c.data, in), indices(dtype_of<Index>, c.indices),
      y(DType::f32, result, to);
  data.fill_random(1);
  for (std::int64_t i = 0; i < count; ++i)
    indices.at<Index>(i) = static_cast<Index>(i * 7 % (2 * size) - size);
  const Use use{.id = KernelId::gather,
                .inputs = {&data, &indices},
                .outputs = {&y},
                .attrs = {Attr(c.axis)}};
  const std::string why = run(use, active_isa());
  if (why == "blocks that are not evenly spaced") return;
  ASSERT_EQ(why, "");
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    std::int64_t index = indices.at<Index>(i / inner % count);
    if (index < 0) index += size;
    const std::int64_t number = (i / inner / count * size + index) * inner + i % inner;
    ASSERT_EQ(y.at<float>(i), data.at<float>(number)) << c.data.to_string();
  }
  EXPECT_TRUE(y.untouched_between());
}

TEST(Gather, PicksBlocksOnAnyAxis) {
  const std::vector<Case> cases = {{{10}, {}, 0},       {{10}, {4}, 0},     {{5, 6}, {3}, 0},
                                   {{5, 6}, {3}, 1},    {{5, 6}, {}, -1},   {{5, 6, 7}, {2, 3}, 1},
                                   {{4, 1, 3}, {0}, 0}, {{3, 4}, {1, 1}, 0}};
  for (const Case& c : cases)
    for (const Layout in : kLayouts)
      for (const Layout to : kLayouts) {
        expect_gathered<std::int64_t>(c, in, to);
        expect_gathered<std::int32_t>(c, in, to);
      }
}

TEST(Gather, AnIndexOutsideIsAFault) {
  Buffer data(DType::f32, {3}), indices(DType::i64, {2}), y(DType::f32, {2});
  for (const std::int64_t index : {3, -4}) {
    indices.fill<std::int64_t>({0, index});
    EXPECT_EQ(run({.id = KernelId::gather,
                   .inputs = {&data, &indices},
                   .outputs = {&y},
                   .attrs = {Attr(0)}},
                  active_isa()),
              "index {} is outside an axis of {} elements");
  }
}

}  // namespace
}  // namespace scanloom::kernels::testing
