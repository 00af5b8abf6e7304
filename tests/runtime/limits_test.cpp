// PollInterval: how often a loop polls its limits, with simulated times.
#include "runtime/limits.h"

#include <gtest/gtest.h>

namespace scanloom::runtime {
namespace {

using namespace std::chrono_literals;

/// Returns the steps until the next poll is due.
std::int64_t steps_to_poll(PollInterval& interval) {
  std::int64_t steps = 1;
  while (!interval.due()) ++steps;
  return steps;
}

TEST(PollInterval, PollsAfterTheFirstStep) {
  PollInterval interval;
  interval.start(Clock::time_point());
  EXPECT_EQ(steps_to_poll(interval), 1);
}

TEST(PollInterval, FastStepsPollLessAndLessOften) {
  PollInterval interval;
  Clock::time_point now;
  interval.start(now);
  std::int64_t last = steps_to_poll(interval);
  for (int i = 0; i < 40; ++i) {
    now += 1us;
    interval.polled(now);
    const std::int64_t steps = interval.chunk();
    EXPECT_EQ(steps, std::min<std::int64_t>(2 * last, 1 << 24));
    last = steps;
  }
}

TEST(PollInterval, SlowStepsPollEveryTime) {
  PollInterval interval;
  Clock::time_point now;
  interval.start(now);
  for (int i = 0; i < 10; ++i) interval.polled(now += 1us);
  for (int i = 0; i < 10; ++i) interval.polled(now += 5ms);
  EXPECT_EQ(steps_to_poll(interval), 1);
}

// Steps that become a hundred times as expensive, as with denormals, cost one long stretch, not
// many.
TEST(PollInterval, OneLongStretchIsEnough) {
  PollInterval interval;
  Clock::time_point now;
  interval.start(now);
  for (int i = 0; i < 10; ++i) interval.polled(now += 1us);
  ASSERT_EQ(interval.chunk(), 1024);
  interval.polled(now += 20ms);
  EXPECT_EQ(interval.chunk(), 10);
}

TEST(Watch, TimeCountsFromTheStartOfTheRun) {
  Limits limits;
  limits.deadline_seconds = 1000;
  EXPECT_TRUE(Watch(limits).poll());
  limits.start = Clock::now() - 2000s;
  EXPECT_FALSE(Watch(limits).poll());
}

TEST(Watch, DeadlineAndCancellationNameTheSteps) {
  Limits limits;
  limits.deadline_seconds = 1e-9;
  Watch late(limits);
  EXPECT_NE(late.poll(7, {}).error().message().find("after 7 steps"), std::string::npos);
  EXPECT_EQ(late.poll().error().message().find("steps"), std::string::npos);
  limits = {};
  limits.cancelled = [] { return true; };
  Watch cancelled(limits);
  EXPECT_EQ(cancelled.poll().error().code(), Code::cancelled);
}

}  // namespace
}  // namespace scanloom::runtime
