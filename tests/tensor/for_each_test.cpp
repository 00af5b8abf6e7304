#include "tensor/for_each.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace scanloom::tensor {
namespace {

TEST(ForEachTest, RowsVisitEveryElementInOrder) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const int rank = static_cast<int>(random() % 5);
    Shape dims, a, b;
    for (int axis = 0; axis < rank; ++axis) {
      dims.push_back(static_cast<std::int64_t>(random() % 4) + (round % 7 == 0 ? 0 : 1));
      a.push_back(static_cast<std::int64_t>(random() % 7) - 3);
    }
    b = contiguous_strides(dims);
    std::vector<std::pair<std::int64_t, std::int64_t>> expected, seen;
    for_each_index(dims.dims(), [&](const Shape& index) {
      expected.emplace_back(offset_of(index, a.data()), offset_of(index, b.data()));
    });
    EXPECT_EQ(static_cast<std::int64_t>(expected.size()), dims.elements());
    for_each_element<2>(dims.dims(), {a.data(), b.data()},
                        [&](const auto& at) { seen.emplace_back(at[0], at[1]); });
    EXPECT_EQ(seen, expected) << dims.to_string() << a.to_string();
  }
}

TEST(ForEachTest, ContiguousOperandsAreOneRow) {
  const Shape dims{2, 3, 4};
  const Shape strides = contiguous_strides(dims);
  RowCursor<1> rows(dims.dims());
  rows.add(strides.data());
  rows.start();
  EXPECT_EQ(rows.length(), 24);
  EXPECT_EQ(rows.step(0), 1);
  rows.next();
  EXPECT_TRUE(rows.done());
}

TEST(ForEachTest, BroadcastStridesAlignAtTheEnd) {
  const Shape dims{3, 1}, strides{1, 1}, result{2, 3, 4};
  EXPECT_EQ(broadcast_strides(dims.dims(), strides.dims(), result.dims()), Shape({0, 1, 0}));
}

}  // namespace
}  // namespace scanloom::tensor
