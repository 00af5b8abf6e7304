// LoopState, OutlinedRegions and failed_steps: which list and which code a run uses, and where it
// failed, for bindings whose code is made by hand.
#include "runtime/loop_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/failed_steps.h"
#include "runtime/outlined_regions.h"
#include "tests/runtime/bound_parts.h"

namespace scanloom::runtime {
namespace {

using ::testing::HasSubstr;

/// Code of a body that does nothing.
std::int64_t no_code(jit::BodyFrame* /*frame*/, std::int64_t first, std::int64_t /*last*/) {
  return first;
}
/// Code whose first call fails.
std::int64_t failing_code(jit::BodyFrame* frame, std::int64_t /*first*/, std::int64_t /*last*/) {
  frame->failed_call = 0;
  return jit::kBodyFault;
}

plan::BodyCode code_of(decltype(jit::CompiledBody::run) run) {
  plan::BodyCode code;
  code.code.run = run;
  return code;
}

plan::Binding walk() { return *bind_text(kWalk, {{}, {2}, {5, 2}}); }

TEST(LoopState, ABodyIsUndecidedUntilItHasCodeOrNeverWill) {
  plan::Binding binding = walk();
  LoopState state(binding.loops[0]);
  EXPECT_TRUE(state.is_undecided());
  EXPECT_EQ(state.body_code(), nullptr);
  EXPECT_FALSE(state.has_body_code(false));
  state.stepping = SteppedLoop{.is_decided = true};
  EXPECT_FALSE(state.is_undecided());
  binding.loops[0].per_step.code = code_of(no_code);
  const LoopState compiled(binding.loops[0]);
  EXPECT_FALSE(compiled.is_undecided());
  ASSERT_NE(compiled.body_code(), nullptr);
  EXPECT_TRUE(compiled.has_body_code(false));
}

TEST(LoopState, CodeIsUsedOnlyWhereLimitsAllowAndAProfileHasItsOwn) {
  plan::Binding binding = walk();
  binding.loops[0].per_step.code = code_of(no_code);
  LoopState state(binding.loops[0]);
  EXPECT_FALSE(state.has_body_code(true));
  state.timed.emplace();
  EXPECT_FALSE(state.has_body_code(true));
  state.timed->body = code_of(no_code);
  EXPECT_TRUE(state.has_body_code(true));
  state.code_allowed = false;
  EXPECT_FALSE(state.has_body_code(false));
  EXPECT_FALSE(state.has_body_code(true));
}

/// kWalk, whose body is an outlined region with a loop of five steps inside.
std::shared_ptr<const plan::Binding> outlined(decltype(jit::CompiledBody::run) run) {
  plan::Binding binding = walk();
  const std::uint32_t body = binding.loops[0].body;
  binding.outlined_regions.push_back({.loop = 0,
                                      .first = body,
                                      .last = body + 1,
                                      .inner_steps = 5,
                                      .max_inner_trips = 5,
                                      .charged = 7,
                                      .code = run != nullptr ? code_of(run) : plan::BodyCode()});
  return std::make_shared<plan::Binding>(std::move(binding));
}

TEST(OutlinedRegions, TheListHasOnlyRegionsThatHaveCode) {
  BoundParts stepped(outlined(nullptr)), compiled(outlined(no_code));
  OutlinedRegions without(stepped.values, stepped.kernels, stepped.progress, stepped.loops);
  OutlinedRegions with(compiled.values, compiled.kernels, compiled.progress, compiled.loops);
  const std::uint32_t at = compiled.binding->loops[0].body;
  EXPECT_EQ(without.list({})[at].op, plan::Op::call);
  EXPECT_EQ(with.list({})[at].op, plan::Op::outlined_region);
  without.adopt(with);
  EXPECT_EQ(without.list({})[at].op, plan::Op::outlined_region);
}

TEST(OutlinedRegions, AStepLimitOrAProfileStepsThem) {
  BoundParts parts(outlined(no_code));
  OutlinedRegions regions(parts.values, parts.kernels, parts.progress, parts.loops);
  Limits limits;
  limits.max_steps = 5;
  EXPECT_NE(regions.list(limits), parts.binding->code.data());
  limits.max_steps = 4;
  EXPECT_EQ(regions.list(limits), parts.binding->code.data());
  Profile profile;
  parts.progress.begin_run(&profile);
  EXPECT_EQ(regions.list({}), parts.binding->code.data());
}

TEST(OutlinedRegions, ARegionCountsItsStepsAndItsTime) {
  BoundParts parts(outlined(no_code));
  OutlinedRegions regions(parts.values, parts.kernels, parts.progress, parts.loops);
  const Limits limits;
  Watch watch(limits);
  ASSERT_TRUE(regions.run(0, watch));
  EXPECT_EQ(parts.progress.steps(), 5);
}

TEST(OutlinedRegions, AFailedCallIsFoundInTheList) {
  BoundParts parts(outlined(failing_code));
  OutlinedRegions regions(parts.values, parts.kernels, parts.progress, parts.loops);
  const Limits limits;
  Watch watch(limits);
  parts.loops[0].step = 3;
  ASSERT_FALSE(regions.run(0, watch));
  const std::uint32_t at = parts.binding->loops[0].body;
  EXPECT_EQ(parts.progress.failed_at(), at);
  const Error error =
      note_steps(fail(Code::invalid_argument, "wrong"), *parts.binding, parts.loops, at);
  EXPECT_THAT(error.message(), HasSubstr("in step 3 of node 'walk'"));
}

TEST(FailedSteps, TheEndOfALoopIsNotPartOfItsBody) {
  const BoundParts parts(outlined(nullptr));
  const std::uint32_t end = parts.binding->loops[0].exit - 1;
  const Error error =
      note_steps(fail(Code::invalid_argument, "wrong"), *parts.binding, parts.loops, end);
  EXPECT_THAT(error.message(), ::testing::Not(HasSubstr("step")));
}

}  // namespace
}  // namespace scanloom::runtime
