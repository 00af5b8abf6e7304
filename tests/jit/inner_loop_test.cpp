// Blocks of bodies: inner loops whose trip count is known only at run time poll the limits.
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <vector>

#include "api/jit_plugin.h"
#include "jit/interface.h"

namespace scanloom::jit {

using loopnest::Access;
using loopnest::BodySource;
using loopnest::InnerLoop;
using loopnest::kMaxStatementDepth;
using loopnest::Statement;

namespace {

const Plugin* compiler() {
  std::string why_not;
  return jit_compiler(why_not);
}

/// Branches in branches, so many, around a slot that is set.
BodySource nested_branches(int depth) {
  Statement statement{.kind = Statement::Kind::set, .set = {1, 0, 8}};
  for (int i = 0; i < depth; ++i) {
    Statement outer{.kind = Statement::Kind::branch, .condition = {2, DType::boolean, 0, {}}};
    outer.inner.push_back(std::move(statement));
    statement = std::move(outer);
  }
  BodySource source;
  source.statements.push_back(std::move(statement));
  return source;
}

TEST(InnerLoop, IsRefusedWhereBlocksNestTooDeep) {
  if (compiler() == nullptr) GTEST_SKIP() << "built without the loop compiler";
  EXPECT_TRUE(compiler()->compile_body(nested_branches(kMaxStatementDepth)));
  const auto refused = compiler()->compile_body(nested_branches(kMaxStatementDepth + 1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("more than 32 deep"), std::string::npos);
}

/// Answers the polls of the compiled code, and grants four steps at a time.
struct Polls : BodyFrame {
  std::byte* pointers[3];
  std::int64_t counters[2] = {100, 4};
  std::vector<std::int64_t> steps;  ///< at each poll
  std::size_t most = 1000;          ///< polls

  explicit Polls(std::int64_t& trips, bool& flag) : BodyFrame{pointers, nullptr, 0} {
    pointers[0] = reinterpret_cast<std::byte*>(&trips);
    pointers[1] = pointers[2] = reinterpret_cast<std::byte*>(&flag);
    steps_to_poll = counters;
    max_counted = max_endless = std::numeric_limits<std::int64_t>::max();
    poll = [](BodyFrame* frame, std::int64_t loop, std::int64_t taken, std::int64_t) {
      auto& self = static_cast<Polls&>(*frame);
      EXPECT_EQ(loop, 1);
      self.steps.push_back(taken);
      self.counters[loop] = 4;
      return self.steps.size() < self.most;
    };
  }
};

/// One loop, which moves slot 2 by a byte in each of as many steps as slot 0 says.
BodySource counting() {
  Statement loop{.kind = Statement::Kind::loop};
  loop.loop.trip_count = Access{0, DType::i64, 0, {}};
  loop.loop.endless = std::int64_t{1} << 53;
  loop.loop.before = {{2, 1, 0}};
  loop.loop.moves = {{2, 1}};
  loop.loop.weight = 1;
  loop.loop.index = 1;
  BodySource source;
  source.statements = {loop};
  return source;
}

class InnerLoopRun : public testing::Test {
 protected:
  void SetUp() override {
    if (compiler() == nullptr) GTEST_SKIP() << "built without the loop compiler";
  }

  std::int64_t run(const BodySource& source, std::int64_t steps = 1) {
    const Expected<CompiledBody> body = compiler()->compile_body(source);
    if (!body) throw Failure(body.error());
    return body->run(&frame, 0, steps);
  }

  std::int64_t trips = 10;
  bool flag = true;
  Polls frame{trips, flag};
};

TEST_F(InnerLoopRun, PollsWhenItsStepsAreTaken) {
  EXPECT_EQ(run(counting(), 2), 2);
  EXPECT_EQ(frame.steps, (std::vector<std::int64_t>{4, 8, 2, 6, 10}));
  EXPECT_EQ(frame.counters[1], 4);
  EXPECT_EQ(frame.counters[0], 100) << "another loop's";
}

TEST_F(InnerLoopRun, TakesNoStepWhereThereAreNone) {
  for (const std::int64_t none :
       {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    trips = none;
    EXPECT_EQ(run(counting()), 1);
  }
  BodySource source = counting();
  source.statements[0].loop.condition = Access{1, DType::boolean, 0, {}};
  trips = 10;
  flag = false;
  EXPECT_EQ(run(source), 1);
  EXPECT_EQ(frame.steps.size(), 0U);
  EXPECT_EQ(frame.counters[1], 4);
}

TEST_F(InnerLoopRun, StopsWhereAPollSaysSo) {
  trips = std::numeric_limits<std::int64_t>::max();
  frame.most = 3;
  EXPECT_EQ(run(counting()), kBodyFault);
  EXPECT_EQ(frame.failed_call, kStopped);
  EXPECT_EQ(frame.steps.back(), 12);
}

TEST_F(InnerLoopRun, EndsWithItsSlices) {
  BodySource source = counting();
  source.statements[0].loop.slices = 3;
  trips = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(run(source), 1);
  EXPECT_EQ(frame.counters[1], 1);
  trips = 5;
  EXPECT_EQ(run(source), kBodyFault);
  EXPECT_EQ(frame.failed_call, kTooFewSlices);
  EXPECT_EQ(frame.failed_loop, 1);
  EXPECT_EQ(frame.failed_trips, 5);
}

TEST_F(InnerLoopRun, EndsAtTheStepLimit) {
  frame.max_counted = 10;
  frame.max_endless = 7;
  EXPECT_EQ(run(counting()), 1);
  trips = 11;
  EXPECT_EQ(run(counting()), kBodyFault);
  EXPECT_EQ(frame.failed_call, kStepLimit);
  EXPECT_EQ(frame.failed_trips, 10);
  trips = std::int64_t{1} << 53;
  EXPECT_EQ(run(counting()), kBodyFault);
  EXPECT_EQ(frame.failed_trips, 7);
}

// A step counts 30 ns, of which 100 may pass between two polls.
TEST_F(InnerLoopRun, PollsWhenItsTimeIsSpent) {
  BodySource source = counting();
  Statement charge{.kind = Statement::Kind::charge};
  charge.nanoseconds = 30;
  source.statements[0].inner = {charge};
  frame.counters[1] = 100;
  frame.time_left = 100;
  frame.most = 2;
  EXPECT_EQ(run(source), kBodyFault);
  EXPECT_EQ(frame.failed_call, kStopped);
  EXPECT_EQ(frame.steps, (std::vector<std::int64_t>{4, 8}));
}

}  // namespace
}  // namespace scanloom::jit
