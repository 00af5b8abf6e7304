// The memory of a run as data: sizes, lifetimes, and which node holds what.
#include "report/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/bound.h"

namespace scanloom::report {
namespace {

TEST(Memory, BuffersLieWithinTheArenaAndItsMoments) {
  const auto binding = test::bound(test::sums_text(5));
  const Json data = memory(*binding, -1);
  EXPECT_EQ(data["arena"], binding->arena_bytes);
  EXPECT_EQ(data["results"], binding->result_bytes);
  EXPECT_EQ(data["data"], -1);
  EXPECT_EQ(data["depends_on_data"], false);
  ASSERT_FALSE(data["buffers"].empty());
  for (const Json& buffer : data["buffers"]) {
    EXPECT_LE(buffer["born"].get<int>(), buffer["dies"].get<int>());
    EXPECT_LT(buffer["dies"].get<int>(), data["moments"].get<int>());
    EXPECT_LE(buffer["offset"].get<std::int64_t>() + buffer["bytes"].get<std::int64_t>(),
              binding->arena_bytes);
  }
}

TEST(Memory, StatesBelongToTheirLoop) {
  const auto binding = test::bound(test::sums_text(5));
  const Json data = memory(*binding, 12);
  EXPECT_EQ(data["data"], 12);
  const auto loop = binding->loops[0].node.index;
  int held = 0;
  for (const Json& buffer : data["buffers"]) held += buffer.value("node", 0xffffffffu) == loop;
  EXPECT_GE(held, 1);
  ASSERT_EQ(data["loops"].size(), 1u);
  EXPECT_EQ(data["loops"][0]["node"], loop);
  EXPECT_LE(data["loops"][0]["first"].get<int>(), data["loops"][0]["last"].get<int>());
}

}  // namespace
}  // namespace scanloom::report
