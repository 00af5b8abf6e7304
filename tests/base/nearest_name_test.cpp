#include <scanloom/nearest_name.h>

#include <gtest/gtest.h>

#include <vector>

namespace scanloom {
namespace {

TEST(NearestName, FindsTheNameThatIsMeant) {
  const std::vector<std::string> names = {"threads", "execution", "explain"};
  EXPECT_EQ(nearest_name("thread", names), "threads");
  EXPECT_EQ(nearest_name("explian", names), "explain");
  EXPECT_EQ(nearest_name("threads", names), "threads");
}

TEST(NearestName, IsEmptyIfNoneIsClose) {
  const std::vector<std::string> names = {"threads", "x"};
  EXPECT_EQ(nearest_name("frobnicate", names), "");
  EXPECT_EQ(nearest_name("threads", {}), "");
  EXPECT_EQ(nearest_name(std::string(1000, 't'), names), "");
}

}  // namespace
}  // namespace scanloom
