#include "base/checked.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace scanloom {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(Checked, AddUpToTheLimits) {
  EXPECT_EQ(checked_add(2, -5), -3);
  EXPECT_EQ(checked_add(kMax, 0), kMax);
  EXPECT_EQ(checked_add(kMax - 1, 1), kMax);
  EXPECT_EQ(checked_add(kMax, kMin), -1);
  EXPECT_EQ(checked_add(kMax, 1), std::nullopt);
  EXPECT_EQ(checked_add(kMin, -1), std::nullopt);
}

TEST(Checked, MultiplyUpToTheLimits) {
  EXPECT_EQ(checked_mul(-3, 7), -21);
  EXPECT_EQ(checked_mul(kMax, 1), kMax);
  EXPECT_EQ(checked_mul(kMin, 1), kMin);
  EXPECT_EQ(checked_mul(kMax, 0), 0);
  EXPECT_EQ(checked_mul(std::int64_t{1} << 31, std::int64_t{1} << 31), std::int64_t{1} << 62);
  EXPECT_EQ(checked_mul(std::int64_t{1} << 32, std::int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checked_mul(kMin, -1), std::nullopt);
}

TEST(Checked, ProductOfSizes) {
  EXPECT_EQ(checked_product({}), 1);
  EXPECT_EQ(checked_product(std::array<std::int64_t, 3>{2, 3, 4}), 24);
  EXPECT_EQ(checked_product(std::array<std::int64_t, 2>{kMax, 1}), kMax);
  EXPECT_EQ(checked_product(std::array<std::int64_t, 2>{kMax, 2}), std::nullopt);
  EXPECT_EQ(checked_product(std::array<std::int64_t, 3>{0, kMax, 2}), 0);
}

}  // namespace
}  // namespace scanloom
