#include "base/checked.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace scanloom {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Checked, ProductOfSizes) {
  EXPECT_EQ(checked_product({}), 1);
  EXPECT_EQ(checked_product(std::array<std::int64_t, 3>{2, 3, 4}), 24);
  EXPECT_EQ(checked_product(std::array<std::int64_t, 2>{kMax, 1}), kMax);
  EXPECT_EQ(checked_product(std::array<std::int64_t, 2>{kMax, 2}), std::nullopt);
  EXPECT_EQ(checked_product(std::array<std::int64_t, 3>{0, kMax, 2}), 0);
}

}  // namespace
}  // namespace scanloom
