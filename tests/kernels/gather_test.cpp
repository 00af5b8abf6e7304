#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

struct GatherCase {
  Shape data, indices;
  int axis;
};

template <class Index>
void expect_gathered(const GatherCase& c, Layout in, Layout to) {
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

// Frames of a signal: sequences of constant indices are copied at once.
template <class Index>
void expect_frames(const Shape& data_dims, std::int64_t frames, std::int64_t length,
                   std::int64_t hop) {
  Shape result{frames, length};
  const std::int64_t inner = data_dims.elements() / data_dims[0];
  for (int axis = 1; axis < data_dims.rank(); ++axis) result.push_back(data_dims[axis]);
  Buffer data(DType::f32, data_dims), indices(dtype_of<Index>, {frames, length});
  Buffer y(DType::f32, result);
  data.fill_random(1);
  for (std::int64_t i = 0; i < frames * length; ++i)
    indices.at<Index>(i) =
        static_cast<Index>(i / length * hop + i % length - (i % 2 == 0 ? data_dims[0] : 0));
  Use use{.id = KernelId::gather,
          .inputs = {&data, &indices},
          .outputs = {&y},
          .attrs = {Attr(0)},
          .constant = {false, true}};
  ASSERT_EQ(run(use, active_isa()), "");
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::int64_t at = i / inner;
    const std::int64_t number = (at / length * hop + at % length) * inner + i % inner;
    ASSERT_EQ(y.at<float>(i), data.at<float>(number));
  }
  EXPECT_TRUE(y.untouched_between());
  indices.at<Index>(frames * length - 1) = static_cast<Index>(data_dims[0]);
  EXPECT_EQ(run(use, active_isa()), "index {} is outside an axis of {} elements");
}

TEST(Gather, CopiesFramesOfASignal) {
  expect_frames<std::int64_t>({100}, 9, 20, 10);
  expect_frames<std::int32_t>({100, 3}, 5, 20, 17);
  expect_frames<std::int64_t>({100}, 40, 2, 2);
  expect_frames<std::int64_t>({100, 2, 2}, 4, 25, 25);
}

TEST(Gather, PicksBlocksOnAnyAxis) {
  const std::vector<GatherCase> cases = {
      {{10}, {}, 0},      {{10}, {4}, 0},           {{5, 6}, {3}, 0},    {{5, 6}, {3}, 1},
      {{5, 6}, {}, -1},   {{5, 6, 7}, {2, 3}, 1},   {{4, 1, 3}, {0}, 0}, {{3, 4}, {1, 1}, 0},
      {{7, 90}, {50}, 1}, {{3, 2, 9, 5}, {2, 4}, 2}};
  for (const GatherCase& c : cases)
    for (const Layout in : kLayouts)
      for (const Layout to : kLayouts) {
        expect_gathered<std::int64_t>(c, in, to);
        expect_gathered<std::int32_t>(c, in, to);
      }
}

TEST(Gather, AnIndexOutsideIsAFault) {
  Buffer data(DType::f32, {3}), indices(DType::i64, {2}), y(DType::f32, {2});
  Buffer rows(DType::f32, {2, 3, 5}), picked(DType::f32, {2, 2, 5});
  for (const std::int64_t index : {3, -4}) {
    indices.fill<std::int64_t>({0, index});
    EXPECT_EQ(run({.id = KernelId::gather,
                   .inputs = {&rows, &indices},
                   .outputs = {&picked},
                   .attrs = {Attr(1)}},
                  active_isa()),
              "index {} is outside an axis of {} elements");
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
