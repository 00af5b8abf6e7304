#include "tensor/shape.h"

#include <gtest/gtest.h>

namespace scanloom::tensor {
namespace {

TEST(ShapeTest, CountsElementsWithinTheLimit) {
  EXPECT_EQ(Shape({2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape().checked_elements(), 1);
  EXPECT_EQ(Shape({std::int64_t{1} << 40}).checked_elements(), std::int64_t{1} << 40);
  EXPECT_EQ(Shape({(std::int64_t{1} << 40) + 1}).checked_elements(), std::nullopt);
  EXPECT_EQ(Shape({-1}).checked_elements(), std::nullopt);
  EXPECT_EQ(Shape({std::int64_t{1} << 62, 0, std::int64_t{1} << 62}).checked_elements(), 0);
  EXPECT_EQ(Shape({std::int64_t{1} << 32, std::int64_t{1} << 32}).checked_elements(), std::nullopt);
}

TEST(ShapeTest, InsertsAndErasesAxes) {
  Shape shape{2, 4};
  shape.insert(1, 3);
  EXPECT_EQ(shape, Shape({2, 3, 4}));
  shape.erase(0);
  EXPECT_EQ(shape.to_string(), "[3,4]");
  shape.push_back(5);
  EXPECT_EQ(shape, Shape({3, 4, 5}));
}

TEST(ShapeTest, Contiguity) {
  const Shape shape{2, 1, 3};
  EXPECT_EQ(contiguous_strides(shape), Shape({3, 3, 1}));
  EXPECT_TRUE(is_contiguous(shape.dims(), Shape({3, 99, 1}).dims()));
  EXPECT_FALSE(is_contiguous(shape.dims(), Shape({4, 3, 1}).dims()));
  EXPECT_TRUE(is_contiguous(Shape({0, 5}).dims(), Shape({-1, 7}).dims()));
}

TEST(ShapeTest, BroadcastsLikeNumpy) {
  EXPECT_EQ(broadcast({3, 1}, {4}), Shape({3, 4}));
  EXPECT_EQ(broadcast({}, {2}), Shape({2}));
  EXPECT_EQ(broadcast({0}, {1}), Shape({0}));
  EXPECT_EQ(broadcast({2}, {3}), std::nullopt);
  EXPECT_EQ(broadcast({0}, {2}), std::nullopt);
}

TEST(ShapeTest, NormalisesAxes) {
  EXPECT_EQ(normalise_axis(-1, 3), 2);
  EXPECT_EQ(normalise_axis(0, 1), 0);
  EXPECT_EQ(normalise_axis(3, 3), std::nullopt);
  EXPECT_EQ(normalise_axis(-4, 3), std::nullopt);
  EXPECT_EQ(normalise_axis(0, 0), std::nullopt);
}

}  // namespace
}  // namespace scanloom::tensor
