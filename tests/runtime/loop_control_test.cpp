// LoopControl: how many steps a loop takes, from its trip count, its slices and the step limit.
#include "runtime/loop_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/runtime/bound_parts.h"

namespace scanloom::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kUntil = R"(module {
  graph(%0 "going": boolean[], %1 "s": f32[2]) {
    %2 = loop condition(%0) carried(%1) keep_going : f32[2] loc("node 'until'") {
      body(%3: f32[2]) {
        %4 = reduce(%3) {axes = [0], keepdims = 0, kind = "sum"} : f32[]
        %5 = cast(%4) {to = boolean} : boolean[]
        yield %5, %3
      }
    }
    yield %2 "last"
  }
})";

/// kWalk over so many slices, with a trip count that is an input.
struct Counted {
  explicit Counted(std::int64_t slices) : parts(bind_text(kWalk, {{}, {2}, {slices, 2}})) {
    parts.feed(0, trip);
    parts.feed(1, state);
    xs.resize(static_cast<std::size_t>(2 * slices));
    parts.feed(2, xs);
  }
  Expected<bool> enter(std::int64_t steps, std::int64_t max_steps = -1) {
    trip[0] = steps;
    Limits limits;
    limits.max_steps = max_steps;
    return parts.control.enter(0, limits);
  }

  std::vector<std::int64_t> trip{0};
  std::vector<float> state{0, 0}, xs;
  BoundParts parts;
};

TEST(LoopControl, TheTripCountIsReadWhenTheLoopIsEntered) {
  Counted loop(5);
  EXPECT_TRUE(loop.enter(3).value_or_throw());
  EXPECT_EQ(loop.parts.loops[0].trip, 3);
  EXPECT_EQ(loop.parts.loops[0].shown, 3);
  EXPECT_TRUE(loop.enter(5).value_or_throw());
  EXPECT_FALSE(loop.enter(0).value_or_throw());
  EXPECT_FALSE(loop.enter(-4).value_or_throw());
}

TEST(LoopControl, TooFewSlicesNameTheLoopAndBothNumbers) {
  Counted loop(5);
  const Expected<bool> entered = loop.enter(6);
  ASSERT_FALSE(entered);
  EXPECT_EQ(entered.error().code(), Code::invalid_argument);
  EXPECT_THAT(entered.error().message(),
              AllOf(HasSubstr("'walk'"), HasSubstr("6 steps"), HasSubstr("5 slices")));
}

TEST(LoopControl, AStepLimitEndsTheLoopWithAnErrorThatSaysWhatToRaise) {
  Counted loop(5);
  EXPECT_TRUE(loop.enter(5, 5).value_or_throw());
  EXPECT_TRUE(loop.parts.control.check_limit(0));
  EXPECT_TRUE(loop.enter(5, 4).value_or_throw());
  EXPECT_EQ(loop.parts.loops[0].trip, 4);
  const Expected<void> limited = loop.parts.control.check_limit(0);
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().code(), Code::limit_reached);
  EXPECT_THAT(limited.error().message(),
              AllOf(HasSubstr("the step limit of 4 was reached"), HasSubstr("max_steps")));
}

TEST(LoopControl, ALimitOfNoStepsIsAnErrorOnlyOfALoopThatTakesSome) {
  Counted loop(5);
  EXPECT_FALSE(loop.enter(0, 0).value_or_throw());
  const Expected<bool> entered = loop.enter(1, 0);
  ASSERT_FALSE(entered);
  EXPECT_THAT(entered.error().message(), HasSubstr("allows no step"));
}

TEST(LoopControl, WithoutATripCountTheDefaultLimitApplies) {
  BoundParts parts(bind_text(kUntil, {{}, {2}}));
  std::vector<char> going{1};
  std::vector<float> state{0, 0};
  parts.feed(0, going);
  parts.feed(1, state);
  EXPECT_TRUE(parts.control.enter(0, {}).value_or_throw());
  EXPECT_EQ(parts.loops[0].trip, ir::kDefaultMaxSteps);
  EXPECT_EQ(parts.loops[0].shown, -1);
  EXPECT_TRUE(parts.loops[0].limited);
  going[0] = 0;
  EXPECT_FALSE(parts.control.enter(0, {}).value_or_throw());
  EXPECT_EQ(parts.loops[0].trip, 0);
}

TEST(LoopControl, StepsAreCountedForLaterRuns) {
  plan::Binding binding = *bind_text(kWalk, {{}, {2}, {5, 2}});
  binding.loops[0].stepped = std::make_shared<plan::StepCounts::Count>(7);
  BoundParts parts(std::make_shared<plan::Binding>(std::move(binding)));
  parts.control.begin_counts();
  EXPECT_EQ(parts.loops[0].all_stepped(), 7);
  parts.loops[0].stepped = 5;
  parts.control.add_counts();
  parts.control.begin_counts();
  EXPECT_EQ(parts.loops[0].all_stepped(), 12);
}

TEST(LoopControl, ASteppedLoopWithoutACountIsNotCounted) {
  Counted loop(5);
  loop.parts.control.begin_counts();
  loop.parts.loops[0].stepped = 5;
  loop.parts.control.add_counts();
  loop.parts.control.begin_counts();
  EXPECT_EQ(loop.parts.loops[0].all_stepped(), 0);
}

TEST(LoopControl, ACarriedValueMustKeepItsSizes) {
  Counted loop(5);
  const plan::BoundCarried& state = loop.parts.binding->loops[0].carried[0];
  plan::SizeCheck check{.argument = state.argument, .next = state.next};
  EXPECT_TRUE(loop.parts.control.check_sizes(check));
  const plan::BoundScanned& port = loop.parts.binding->loops[0].scanned[0];
  check.next = port.outer;  // of five rows
  const Expected<void> checked = loop.parts.control.check_sizes(check);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code(), Code::invalid_argument);
  EXPECT_THAT(checked.error().message(),
              AllOf(HasSubstr("'walk'"), HasSubstr("[2]"), HasSubstr("[5,2]")));
}

}  // namespace
}  // namespace scanloom::runtime
