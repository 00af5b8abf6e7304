// Independent steps on several threads give the results, errors and limits of steps in order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "base/thread_pool.h"
#include "ir/parse.h"
#include "ops/ops.h"
#include "plan/plan.h"
#include "runtime/run.h"

namespace scanloom::runtime {
namespace {

using tensor::ObjectRef;
using tensor::Shape;
using tensor::Tensor;
using ::testing::HasSubstr;

// A counter, a sequence that grows, rows in both directions and rows of different lengths, over
// slices, items and a value of the arena. Item i is gathered, so that i may be out of range.
constexpr const char* kMap = R"(module {
  graph(%0 "n": i64[], %1 "first": i64[], %2 "s": sequence(f32[*]), %3 "x": f32[N,3], %4 "table": f32[40]) {
    %5 = neg(%4) : f32[40] loc("node 'neg'")
    %6, %7, %8, %9 = loop trip(%0) captured(%5, %3) carried(%1, %2) scanned(%3 axis 0) stacked(axis 0 reverse, axis 0 concat) : i64[], sequence(f32[*]), f32[?0,3], f32[?1] loc("node 'map'") {
      body(%10: f32[40], %11: f32[N,3], %12: i64[], %13: sequence(f32[*]), %14: f32[3]) {
        %15 = gather(%10, %12) {axis = 0} : f32[] loc("node 'gather'")
        %16 = mul(%14, %15) : f32[3] loc("node 'scale'")
        %17 = sequence_insert(%13, %16, _) : sequence(f32[*]) loc("node 'insert'")
        %18 = constant i64[] [2]
        %19 = add(%18, %12) : i64[] loc("node 'count'")
        %20 = constant i64[1] [-29]
        %21 = add(%20, %12) : i64[1] loc("node 'end'")
        %22 = constant i64[1] [0]
        %23 = slice(%16, %22, %21, _, _) : f32[?2] loc("node 'some'")
        yield %19, %17, %16, %23
      }
    }
    yield %6 "next", %7 "t", %8 "rows", %9 "some"
  }
})";

std::shared_ptr<const plan::Binding> bind_parallel(std::string_view text,
                                                   const std::vector<Shape>& shapes) {
  auto module = ir::parse(text, ops::find_op);
  EXPECT_TRUE(module) << module.error().message();
  auto binding =
      plan::bind(plan::make_plan(*std::move(module), {.always_parallel_steps = true}), shapes);
  EXPECT_TRUE(binding) << binding.error().message();
  return *std::move(binding);
}

class StepsInParallel : public ::testing::Test {
 protected:
  StepsInParallel() : x(3 * kSteps), table(40), sequence(ObjectRef::sequence(DType::f32)) {
    std::iota(x.begin(), x.end(), -20.0F);
    std::iota(table.begin(), table.end(), -5.0F);
    sequence->push_back(ObjectRef::of(*Tensor::zeros(DType::f32, {2})));
  }

  Expected<RunResult> execute(runtime::Run& run, std::int64_t count,
                              const Limits& limits = {}) const {
    const std::byte* const data[] = {reinterpret_cast<const std::byte*>(&count),
                                     reinterpret_cast<const std::byte*>(&first), nullptr,
                                     reinterpret_cast<const std::byte*>(x.data()),
                                     reinterpret_cast<const std::byte*>(table.data())};
    const std::vector<ObjectRef> objects = {{}, {}, sequence, {}, {}};
    return run.execute(data, limits, nullptr, objects);
  }

  Expected<RunResult> run(int threads, const Limits& limits = {}) {
    const auto binding = bind_parallel(kMap, {{}, {}, {}, {kSteps, 3}, {40}});
    auto run = runtime::Run::make(binding, 0, threads).value_or_throw();
    (void)execute(*run, kSteps, limits);
    auto result = execute(*run, kSteps, limits);
    shared = run->loop_times()[0].shared;
    used = run->loop_times()[0].threads;
    return result;
  }

  static constexpr std::int64_t kSteps = 15;
  std::int64_t first = 3;
  std::vector<float> x, table;
  ObjectRef sequence;
  std::int64_t shared = 0;
  int used = 0;
};

TEST_F(StepsInParallel, GivesTheResultsOfStepsInOrder) {
  const auto wanted = run(1);
  ASSERT_TRUE(wanted) << wanted.error().text();
  EXPECT_EQ(shared, 0);
  for (const int threads : {2, 3, 8}) {
    const auto got = run(threads);
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(shared, pool_threads() > 1 ? 2 : 0);
    EXPECT_LE(used, std::min(threads, pool_threads()));
    EXPECT_EQ(got->steps, kSteps);
    for (const std::size_t i : {0, 2, 3}) {
      const auto tensor_of = [&](const RunResult& result) {
        return result.objects[i] ? result.objects[i]->tensor() : result.outputs[i];
      };
      EXPECT_TRUE(tensor::identical(tensor_of(*got), tensor_of(*wanted))) << "result " << i;
    }
    EXPECT_EQ(got->outputs[0].as<std::int64_t>()[0], 3 + 2 * kSteps);
    ASSERT_EQ(got->objects[1]->items().size(), 1u + kSteps);
    for (std::size_t k = 0; k <= kSteps; ++k)
      EXPECT_TRUE(tensor::identical(got->objects[1]->items()[k]->tensor(),
                                    wanted->objects[1]->items()[k]->tensor()))
          << "item " << k;
    EXPECT_EQ(sequence->items().size(), 1u) << "a feed was changed";
  }
}

TEST_F(StepsInParallel, OneRunMayTakeManyStepsAndFew) {
  const auto binding = bind_parallel(kMap, {{}, {}, {}, {kSteps, 3}, {40}});
  auto shared_run = runtime::Run::make(binding, 0, 8).value_or_throw();
  auto alone = runtime::Run::make(binding, 0, 1).value_or_throw();
  for (const std::int64_t count : {15, 2, 3, 0, 1, 15}) {
    const auto got = execute(*shared_run, count), wanted = execute(*alone, count);
    ASSERT_TRUE(got && wanted) << count;
    EXPECT_EQ(got->steps, count);
    EXPECT_EQ(got->objects[1]->items().size(), 1u + static_cast<std::size_t>(count));
    EXPECT_EQ(got->outputs[0].as<std::int64_t>()[0], wanted->outputs[0].as<std::int64_t>()[0]);
  }
}

TEST_F(StepsInParallel, RunsMayShareThePool) {
  const auto wanted = run(1);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      const auto binding = bind_parallel(kMap, {{}, {}, {}, {kSteps, 3}, {40}});
      auto own = runtime::Run::make(binding, 0, 4).value_or_throw();
      for (int again = 0; again < 30; ++again) {
        const auto got = execute(*own, kSteps);
        const bool same = got && got->objects[1]->items().size() == 1u + kSteps &&
                          tensor::identical(got->objects[1]->items()[kSteps]->tensor(),
                                            wanted->objects[1]->items()[kSteps]->tensor());
        if (!same) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(StepsInParallel, TellsOfTheFirstStepThatFails) {
  first = 17;  // 17, 19, ... 39, 41: the thirteenth
  const auto wanted = run(1), got = run(4);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().text(), wanted.error().text());
  EXPECT_THAT(got.error().text(), HasSubstr("41"));
}

TEST_F(StepsInParallel, KeepsToTheLimits) {
  EXPECT_TRUE(run(4, {.max_steps = kSteps}));
  const auto few = run(4, {.max_steps = kSteps - 1});
  ASSERT_FALSE(few);
  EXPECT_THAT(few.error().text(), HasSubstr("step limit of 14"));
  const auto cancelled = run(4, {.cancelled = [] { return true; }});
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), Code::cancelled);
  const auto late = run(4, {.deadline_seconds = 1e-9});
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().text(), HasSubstr("deadline"));
}

TEST_F(StepsInParallel, NeedsNoMoreMemoryThanThereIs) {
  // In order it suffices; each thread would need an arena.
  const auto binding = bind_parallel(kMap, {{}, {}, {}, {kSteps, 3}, {40}});
  for (const std::int64_t extra : {2000, 4000, 8000, 16000, 64000}) {
    const Limits limits{.max_memory = binding->arena_bytes + binding->scratch_bytes +
                                      binding->result_bytes + extra};
    EXPECT_EQ(run(1, limits).has_value(), run(4, limits).has_value()) << extra;
  }
}

TEST(IndependentSteps, AreThoseThatNothingOrders) {
  const auto strategy = [](std::string_view ports, std::string_view results, std::string_view body,
                           std::string_view yields) {
    const std::string text =
        "module { graph(%0 \"n\": i64[], %1 \"x\": f32[5,64], %2 \"s\": f32[64]) { %3 = loop " +
        std::string(ports) + " : " + std::string(results) + " { body(" + std::string(body) +
        " yield " + std::string(yields) + " } } yield %3 \"y\" } }";
    return bind_parallel(text, {{}, {5, 64}, {64}})->loops[0].notes.strategy;
  };
  constexpr const char* kIndependent = "in parallel";
  EXPECT_THAT(strategy("scanned(%1 axis 0) stacked(axis 0)", "f32[5,64]",
                       "%4: f32[64]) { %5 = softmax(%4) {axis = 0} : f32[64]", "%5"),
              HasSubstr(kIndependent));
  EXPECT_THAT(strategy("carried(%2) scanned(%1 axis 0)", "f32[64]",
                       "%4: f32[64], %5: f32[64]) { %6 = softmax(%5) {axis = 0} : f32[64] "
                       "%7 = add(%4, %6) : f32[64]",
                       "%7"),
              ::testing::Not(HasSubstr(kIndependent)));
  EXPECT_THAT(strategy("scanned(%1 axis 0) stacked(axis 0) keep_going", "f32[?0,64]",
                       "%4: f32[64]) { %5 = constant boolean[] [true] "
                       "%6 = softmax(%4) {axis = 0} : f32[64]",
                       "%5, %6"),
              ::testing::Not(HasSubstr(kIndependent)));
}

}  // namespace
}  // namespace scanloom::runtime
