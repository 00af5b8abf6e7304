// RunProgress: what a run reports about itself, and when it polls its limits.
#include "runtime/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/cost.h"
#include "tests/runtime/bound_parts.h"

namespace scanloom::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint32_t kLoop = 0;

class Progress : public ::testing::Test {
 protected:
  BoundParts parts{bind_text(kWalk, {{}, {2}, {5, 2}})};
  RunProgress& progress = parts.progress;
};

TEST_F(Progress, TheOutermostLoopIsTheOneThatIsEnteredFirst) {
  EXPECT_EQ(progress.outermost(), RunProgress::kNoLoop);
  progress.begin_loop(kLoop, true);
  progress.begin_loop(1, true);
  EXPECT_EQ(progress.outermost(), kLoop);
  progress.end_loop(1);
  EXPECT_EQ(progress.outermost(), kLoop);
  progress.end_loop(kLoop);
  EXPECT_EQ(progress.outermost(), RunProgress::kNoLoop);
}

TEST_F(Progress, ALoopIsTimedFromItsArrivalWithoutWhatIsExcluded) {
  parts.loops[kLoop].step = 5;
  progress.arrive();
  progress.exclude(1000);
  progress.begin_loop(kLoop, false);
  EXPECT_EQ(progress.times()[kLoop].steps, 5);
  EXPECT_EQ(progress.times()[kLoop].last, 5);
  EXPECT_LT(progress.times()[kLoop].seconds, -900);
}

TEST_F(Progress, AProfiledRunKeepsTheTimesOfOthers) {
  Profile profile;
  progress.begin_run(&profile);
  EXPECT_EQ(profile.loops.size(), parts.binding->loops.size());
  EXPECT_EQ(profile.calls.size(), parts.binding->calls.size());
  parts.loops[kLoop].step = 5;
  progress.arrive();
  progress.begin_loop(kLoop, false);
  EXPECT_EQ(progress.times()[kLoop].steps, 0);
  EXPECT_EQ(progress.times()[kLoop].last, 5);
}

TEST_F(Progress, ChargedTimeIsPolledOncePerStretch) {
  const Limits limits;
  Watch watch(limits);
  progress.charge(plan::kChargeBetweenPolls);
  ASSERT_TRUE(progress.is_overdue());
  ASSERT_TRUE(progress.poll_in_step(watch));
  progress.charge(plan::kChargeBetweenPolls);
  EXPECT_FALSE(progress.is_overdue());
  progress.charge(1);
  EXPECT_TRUE(progress.is_overdue());
}

TEST_F(Progress, AnEndedRunNamesTheLoopAndItsSteps) {
  Limits limits;
  limits.cancelled = [] { return true; };
  Watch watch(limits);
  parts.loops[kLoop].step = 3;
  progress.begin_loop(kLoop, true);
  const auto expect_ended = [](const Expected<void>& polled) {
    ASSERT_FALSE(polled);
    EXPECT_EQ(polled.error().code(), Code::cancelled);
    EXPECT_THAT(polled.error().message(), AllOf(HasSubstr("'walk'"), HasSubstr("after 3 steps")));
  };
  expect_ended(progress.poll(kLoop, watch));
  expect_ended(progress.poll_in_step(watch));
  const Expected<void> polled = progress.poll_after(parts.binding->loops[kLoop].node, watch);
  ASSERT_FALSE(polled);
  EXPECT_THAT(polled.error().message(), HasSubstr("'walk'"));
}

TEST_F(Progress, TheCallerIsToldTheStepsOfTheOutermostLoop) {
  std::vector<std::int64_t> told;
  Limits limits;
  limits.progress = [&](std::uint32_t loop, std::int64_t step, std::int64_t steps) {
    told = {loop, step, steps};
  };
  limits.start = Clock::now() - 1s;
  Watch watch(limits);
  parts.loops[kLoop].step = 3;
  parts.loops[kLoop].shown = 5;
  progress.begin_loop(kLoop, true);
  ASSERT_TRUE(progress.poll(kLoop, watch));
  EXPECT_EQ(told, (std::vector<std::int64_t>{kLoop, 3, 5}));
  told.clear();
  ASSERT_TRUE(progress.poll(kLoop, watch));  // at most ten times per second
  EXPECT_TRUE(told.empty());
}

TEST_F(Progress, NothingIsPolledWhileCompilingIfNothingCanStopTheRun) {
  Limits limits;
  Watch unlimited(limits);
  EXPECT_FALSE(progress.poll_while_compiling(kLoop, unlimited));
  Limits cancelling;
  cancelling.cancelled = [] { return true; };
  Watch watch(cancelling);
  const plan::MayGoOn may_go_on = progress.poll_while_compiling(kLoop, watch);
  ASSERT_TRUE(may_go_on);
  EXPECT_FALSE(may_go_on());
}

TEST_F(Progress, AWorkerTakesStepsOfOneLoop) {
  EXPECT_EQ(progress.only_loop(), RunProgress::kNoLoop);
  progress.begin_worker(kLoop);
  EXPECT_EQ(progress.only_loop(), kLoop);
  EXPECT_EQ(progress.outermost(), kLoop);
  progress.note_parallel(kLoop, 3);
  progress.note_parallel(kLoop, 2);
  EXPECT_EQ(progress.times()[kLoop].shared, 2);
  EXPECT_EQ(progress.times()[kLoop].threads, 3);
}

}  // namespace
}  // namespace scanloom::runtime
