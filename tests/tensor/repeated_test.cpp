#include "tensor/repeated.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace scanloom::tensor {
namespace {

TEST(Repeated, LargeTensorsHoldTheElementEverywhere) {
  const float element = 0.02F;
  const auto tensor =
      repeated(DType::f32, {1000, 700}, reinterpret_cast<const std::byte*>(&element));
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->dtype(), DType::f32);
  EXPECT_EQ(tensor->shape(), (Shape{1000, 700}));
  EXPECT_TRUE(tensor->is_aligned());
  EXPECT_EQ(std::ranges::count(tensor->as<float>(), element), 700'000);
}

TEST(Repeated, SmallTensorsAreNotWorthIt) {
  const float element = 1;
  EXPECT_FALSE(repeated(DType::f32, {100}, reinterpret_cast<const std::byte*>(&element)));
  EXPECT_FALSE(repeated(DType::f32, {0}, reinterpret_cast<const std::byte*>(&element)));
}

}  // namespace
}  // namespace scanloom::tensor
