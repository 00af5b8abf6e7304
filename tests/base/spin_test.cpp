#include "base/spin.h"

#include <gtest/gtest.h>

namespace scanloom {
namespace {

using namespace std::chrono_literals;

TEST(SpinUntil, EndsWhenItIsDone) {
  EXPECT_TRUE(spin_until([] { return true; }, 0ns));
  int asked = 0;
  EXPECT_TRUE(spin_until([&] { return ++asked == 1000; }, 1h));
  EXPECT_EQ(asked, 1000);
}

TEST(SpinUntil, EndsAtTheLimit) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(spin_until([] { return false; }, 2ms));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 2ms);
}

}  // namespace
}  // namespace scanloom
