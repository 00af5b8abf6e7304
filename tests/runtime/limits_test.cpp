// Pace: how often a loop is looked at, with times made up.
#include "runtime/limits.h"

#include <gtest/gtest.h>

namespace scanloom::runtime {
namespace {

using namespace std::chrono_literals;

/// Steps until it is time to look.
std::int64_t steps_to_look(Pace& pace) {
  std::int64_t steps = 1;
  while (!pace.due()) ++steps;
  return steps;
}

TEST(Pace, ALookAfterTheFirstStep) {
  Pace pace;
  pace.start(Clock::time_point());
  EXPECT_EQ(steps_to_look(pace), 1);
}

TEST(Pace, FastStepsAreLookedAtLessAndLessOften) {
  Pace pace;
  Clock::time_point now;
  pace.start(now);
  std::int64_t last = steps_to_look(pace);
  for (int i = 0; i < 40; ++i) {
    now += 1us;
    pace.looked(now);
    const std::int64_t steps = pace.chunk();
    EXPECT_EQ(steps, std::min<std::int64_t>(2 * last, 1 << 24));
    last = steps;
  }
}

TEST(Pace, SlowStepsAreLookedAtEveryTime) {
  Pace pace;
  Clock::time_point now;
  pace.start(now);
  for (int i = 0; i < 10; ++i) pace.looked(now += 1us);
  for (int i = 0; i < 10; ++i) pace.looked(now += 5ms);
  EXPECT_EQ(steps_to_look(pace), 1);
}

// Steps that become a hundred times dearer, as with denormals, cost one long stretch, not many.
TEST(Pace, OneLongStretchIsEnough) {
  Pace pace;
  Clock::time_point now;
  pace.start(now);
  for (int i = 0; i < 10; ++i) pace.looked(now += 1us);
  ASSERT_EQ(pace.chunk(), 1024);
  pace.looked(now += 20ms);
  EXPECT_EQ(pace.chunk(), 10);
}

TEST(Watch, TimeCountsFromTheStartOfTheRun) {
  Limits limits;
  limits.deadline_seconds = 1000;
  EXPECT_TRUE(Watch(limits).look());
  limits.start = Clock::now() - 2000s;
  EXPECT_FALSE(Watch(limits).look());
}

TEST(Watch, DeadlineAndCancellationNameTheSteps) {
  Limits limits;
  limits.deadline_seconds = 1e-9;
  Watch late(limits);
  EXPECT_NE(late.look(7, {}).error().message().find("after 7 steps"), std::string::npos);
  EXPECT_EQ(late.look().error().message().find("steps"), std::string::npos);
  limits = {};
  limits.cancelled = [] { return true; };
  Watch cancelled(limits);
  EXPECT_EQ(cancelled.look().error().code(), Code::cancelled);
}

}  // namespace
}  // namespace scanloom::runtime
