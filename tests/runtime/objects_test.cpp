// Sequences, optionals and strings in planned runs: what is moved, what is kept, and that nodes on
// tensors pay nothing for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/plan.h"
#include "runtime/run.h"
#include "tests/runtime/bound_parts.h"
#include "tests/runtime/count_allocations.h"

namespace scanloom::runtime {
namespace {

using tensor::ObjectRef;
using tensor::Shape;
using tensor::Tensor;
using ::testing::HasSubstr;

constexpr const char* kGrowing = R"(module {
  graph(%0 "n": i64[], %1 "s": sequence(f32[2]), %2 "x": f32[2]) {
    %3 = loop trip(%0) captured(%2) carried(%1) : sequence(f32[*]) loc("node 'grow'") {
      body(%4: f32[2], %5: sequence(f32[*])) {
        %6 = sequence_insert(%5, %4, _) : sequence(f32[*]) loc("node 'insert'")
        yield %6
      }
    }
    yield %3 "t", %1 "s"
  }
})";

struct Fed {
  std::int64_t steps = 0;
  float x[2] = {1, 2};
  ObjectRef sequence = ObjectRef::sequence(DType::f32);

  Expected<RunResult> run(Run& run, const Limits& limits = {}) {
    const std::byte* const data[] = {reinterpret_cast<const std::byte*>(&steps), nullptr,
                                     reinterpret_cast<const std::byte*>(x)};
    const std::vector<ObjectRef> objects = {{}, sequence, {}};
    return run.execute(data, limits, nullptr, objects);
  }
};

TEST(Objects, AppendingInALoopHandsTheSequenceOver) {
  const auto binding = bind_text(kGrowing, {{}, {}, {2}});
  EXPECT_THAT(plan::print(*binding), HasSubstr("(handed over)"));
}

TEST(Objects, FeedsAreNeverChanged) {
  const auto binding = bind_text(kGrowing, {{}, {}, {2}});
  auto run = Run::make(binding, 0, 1).value_or_throw();
  Fed fed{.steps = 3};
  fed.sequence->push_back(ObjectRef::of(*Tensor::zeros(DType::f32, {2})));
  for (int again = 0; again < 2; ++again) {
    const auto result = fed.run(*run);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->objects[0]->items().size(), 4u);
    EXPECT_EQ(result->objects[1]->items().size(), 1u);
    EXPECT_EQ(fed.sequence->items().size(), 1u);
    EXPECT_EQ(result->objects[0]->items()[3]->tensor().as<float>()[1], 2);
  }
}

TEST(Objects, ManyInsertsTakeLinearTime) {
  const auto binding = bind_text(kGrowing, {{}, {}, {2}});
  auto run = Run::make(binding, 0, 1).value_or_throw();
  Fed fed{.steps = 100000};
  Limits limits;
  limits.deadline_seconds = 20;  // copying the list in every step takes minutes
  const auto result = fed.run(*run, limits);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->objects[0]->items().size(), 100000u);
}

TEST(Objects, ListsCountAgainstTheBudgetUntilTheRunEnds) {
  const auto binding = bind_text(kGrowing, {{}, {}, {2}});
  constexpr std::int64_t kBudget = 1 << 20;
  auto run = Run::make(binding, kBudget, 1).value_or_throw();
  Limits limits;
  limits.max_memory = kBudget;
  Fed fed{.steps = 1000000};
  const auto refused = fed.run(*run, limits);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::limit_reached);
  EXPECT_THAT(refused.error().message(), HasSubstr("node 'insert'"));
  EXPECT_THAT(refused.error().message(), HasSubstr("bytes of the memory budget are left"));
  std::vector<RunResult> kept;
  fed.steps = 1000;
  for (int again = 0; again < 5; ++again) {
    auto result = fed.run(*run, limits);
    ASSERT_TRUE(result) << result.error().message();
    kept.push_back(*std::move(result));  // results of earlier runs are the caller's
  }
}

TEST(Objects, PositionsOutsideNameTheNodeAndBothNumbers) {
  const auto binding = bind_text(R"(module {
    graph(%0 "k": i64[], %1 "s": sequence(f32[2])) {
      %2 = sequence_at(%1, %0) : f32[2] loc("node 'at'")
      yield %2 "x"
    }
  })",
                                 {{}, {}});
  auto run = Run::make(binding, 0, 1).value_or_throw();
  const std::int64_t position = -1;
  const std::byte* const data[] = {reinterpret_cast<const std::byte*>(&position), nullptr};
  const std::vector<ObjectRef> objects = {{}, ObjectRef::sequence(DType::f32)};
  const auto result = run->execute(data, {}, nullptr, objects);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "node 'at': position -1 is outside [0, 0)");
}

TEST(Objects, ItemsOfOtherSizesThanTheTypeSaysAreErrors) {
  const auto binding = bind_text(R"(module {
    graph(%0 "k": i64[], %1 "s": sequence(f32[2])) {
      %2 = sequence_at(%1, %0) : f32[2] loc("node 'at'")
      yield %2 "x"
    }
  })",
                                 {{}, {}});
  auto run = Run::make(binding, 0, 1).value_or_throw();
  const std::int64_t position = 0;
  const std::byte* const data[] = {reinterpret_cast<const std::byte*>(&position), nullptr};
  std::vector<ObjectRef> objects = {{}, ObjectRef::sequence(DType::f32)};
  objects[1]->push_back(ObjectRef::of(*Tensor::zeros(DType::f32, {3})));
  const auto result = run->execute(data, {}, nullptr, objects);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message(),
              HasSubstr("the result has sizes [3], but [2] were expected"));
}

// A captured sequence in a loop over numbers: steps allocate no more than without it.
TEST(Objects, NodesThatTouchNoneAllocateNothing) {
  const auto binding = bind_text(R"(module {
    graph(%0 "n": i64[], %1 "s": sequence(f32[2]), %2 "x": f32[2]) {
      %3 = loop trip(%0) captured(%1) carried(%2) : f32[2] {
        body(%4: sequence(f32[2]), %5: f32[2]) {
          %6 = tanh(%5) : f32[2]
          yield %6
        }
      }
      %7 = sequence_length(%1) : i64[]
      yield %3 "y", %7 "length"
    }
  })",
                                 {{}, {}, {2}});
  auto run = Run::make(binding, 0, 1).value_or_throw();
  const auto allocations = [&](std::int64_t steps) {
    Fed fed{.steps = steps};
    EXPECT_TRUE(fed.run(*run));
    const std::int64_t before = testing::allocations();
    EXPECT_TRUE(fed.run(*run));
    return testing::allocations() - before;
  };
  EXPECT_EQ(allocations(1000), allocations(10));
}

// The number of steps is that of the slices, which only the run knows.
TEST(Objects, SlicesOfUnknownNumberAreCounted) {
  const auto binding = bind_text(R"(module {
    graph(%0 "s": sequence(f32[?0,2]), %1 "k": i64[], %2 "x": f32[2]) {
      %3 = sequence_at(%0, %1) : f32[?1,2]
      %4, %5 = loop carried(%2) scanned(%3 axis 0) stacked(axis 0) : f32[2], f32[?2,2] loc("node 'scan'") {
        body(%6: f32[2], %7: f32[2]) {
          %8 = add(%6, %7) : f32[2]
          yield %8, %8
        }
      }
      yield %4 "last", %5 "all"
    }
  })",
                                 {{}, {}, {2}});
  auto run = Run::make(binding, 0, 1).value_or_throw();
  for (const std::int64_t length : {0, 1, 5}) {
    ObjectRef sequence = ObjectRef::sequence(DType::f32);
    const std::vector<float> ones(static_cast<std::size_t>(2 * length), 1);
    sequence->push_back(ObjectRef::of(Tensor::of<float>({length, 2}, ones)));
    const std::int64_t position = 0;
    const float x[] = {10, 20};
    const std::byte* const data[] = {nullptr, reinterpret_cast<const std::byte*>(&position),
                                     reinterpret_cast<const std::byte*>(x)};
    const std::vector<ObjectRef> objects = {sequence, {}, {}};
    const auto result = run->execute(data, {}, nullptr, objects);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->outputs[0].as<float>()[1], 20 + static_cast<float>(length));
    EXPECT_EQ(result->outputs[1].shape(), Shape({length, 2}));
  }
}

// Slices that the number of steps, known when running, goes beyond are no memory to read.
TEST(Objects, StepsBeyondTheSlicesAreErrors) {
  const auto binding = bind_text(R"(module {
    graph(%0 "n": i64[], %1 "x": f32[3]) {
      %2 = loop trip(%0) scanned(%1 axis 0) stacked(axis 0) : f32[?0] loc("node 'scan'") {
        body(%3: f32[]) {
          yield %3
        }
      }
      yield %2 "all"
    }
  })",
                                 {{}, {3}});
  auto run = Run::make(binding, 0, 1).value_or_throw();
  const float x[] = {1, 2, 3};
  const auto steps = [&](std::int64_t count) {
    const std::byte* const data[] = {reinterpret_cast<const std::byte*>(&count),
                                     reinterpret_cast<const std::byte*>(x)};
    return run->execute(data, {});
  };
  EXPECT_EQ(steps(2)->outputs[0].shape(), Shape({2}));
  EXPECT_EQ(steps(ir::kEndlessTripCount)->outputs[0].shape(), Shape({3}));
  const auto refused = steps(4);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              HasSubstr("node 'scan': 4 steps, but 'x' has 3 slices on axis 0"));
}

}  // namespace
}  // namespace scanloom::runtime
