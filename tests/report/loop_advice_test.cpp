// The obstacles to a faster strategy of a loop, and the advice to its user.
#include "report/loop_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/op_def.h"
#include "report/loops.h"
#include "tests/report/bound.h"

namespace scanloom::report {
namespace {

using ::testing::HasSubstr;

TEST(LoopAdvice, WithoutACompilerTheReasonIsGiven) {
  const auto binding = test::bound(test::sums_text(5));
  const std::vector<Obstacle> found = obstacles(*binding, binding->loops[0]);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].text, "it is turned off");
  EXPECT_THAT(found[0].advice, HasSubstr("libscanloom_jit.so"));
  EXPECT_FALSE(found[0].node.valid());
}

TEST(LoopAdvice, ACallWithoutAKernelIsNamed) {
  const auto binding = test::bound(
      "module { graph(%0 \"s\": i8[8,8], %1 \"xs\": i8[5,8,8]) { "
      "%2 = loop carried(%0) scanned(%1 axis 0) : i8[8,8] { "
      "body(%3: i8[8,8], %4: i8[8,8]) { "
      "%5 = contract(%3, %4) {spec = \"km,kn->mn\"} : i8[8,8] yield %5 } } yield %2 \"y\" } }");
  const std::vector<Obstacle> found = obstacles(*binding, binding->loops[0]);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[1].text, HasSubstr(" has no kernel; contract: only f32"));
  ASSERT_TRUE(found[1].node.valid());
  EXPECT_EQ(binding->plan->module.node(found[1].node).op->name, "contract");
  EXPECT_THAT(found[1].advice, HasSubstr("Other element types"));
}

TEST(Loops, SayWhatIsKnown) {
  const auto binding = test::bound(test::sums_text(5));
  const LoopMeasured measured{.last_steps = 5, .steps = 10, .seconds = 1, .threads = 2};
  const Roofline roofline = [](double bytes, double) { return bytes; };
  const Json list = loops(*binding, std::span(&measured, 1), roofline);
  ASSERT_EQ(list.size(), 1u);
  const Json& loop = list[0];
  EXPECT_EQ(loop["node"], binding->loops[0].node.index);
  EXPECT_EQ(loop["steps"], 5);
  EXPECT_EQ(loop["is_code"], false);
  EXPECT_EQ(loop["measured"]["seconds_per_step"], 0.1);
  EXPECT_EQ(loop["measured"]["threads"], 2);
  EXPECT_EQ(loop["work"]["least_seconds"].get<double>(),
            static_cast<double>(loop["work"]["bytes"].get<std::int64_t>() +
                                loop["work"]["state_bytes"].get<std::int64_t>()));
  EXPECT_EQ(loop["obstacles"][0]["text"], "it is turned off");
  EXPECT_EQ(loop["states"].size(), 1u);
  EXPECT_FALSE(loop["advice"].empty());
}

TEST(Loops, WithoutMeasurementsOrRooflineTheyAreNull) {
  const auto binding = test::bound(test::sums_text(5));
  const Json list = loops(*binding, {}, {});
  EXPECT_TRUE(list[0]["measured"].is_null());
  EXPECT_FALSE(list[0]["work"].contains("least_seconds"));
}

}  // namespace
}  // namespace scanloom::report
