// Loops whose steps are computed ahead give the bits of steps in order; those that must not be are
// left alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "api/jit_plugin.h"
#include "ir/parse.h"
#include "ops/ops.h"
#include "plan/binding.h"
#include "runtime/run.h"
#include "tests/differential/ways.h"

namespace scanloom::differential {
namespace {

using plan::SpeculationMode;
using tensor::Tensor;
using ::testing::HasSubstr;

/// A moving average, its rows, and the number of steps as a counter.
constexpr const char* kAverage = R"(module {
  graph(%0 "s": f32[], %1 "xs": f32[T]) {
    %2 = constant i64[] [0]
    %3, %4, %5 = loop carried(%0, %2) scanned(%1 axis 0) stacked(axis 0) : f32[], i64[], f32[T] loc("node 'average'") {
      body(%6: f32[], %7: i64[], %8: f32[]) {
        %9 = constant f32[] [0.9]
        %10 = constant f32[] [0.1]
        %11 = mul(%6, %9) : f32[]
        %12 = mul(%8, %10) : f32[]
        %13 = add(%11, %12) : f32[]
        %14 = constant i64[] [3]
        %15 = add(%7, %14) : i64[]
        yield %13, %15, %13
      }
    }
    yield %3 "last", %4 "count", %5 "rows"
  }
})";

/// Sums never agree with those from another start.
constexpr const char* kSum = R"(module {
  graph(%0 "s": f32[], %1 "xs": f32[T]) {
    %2, %3 = loop carried(%0) scanned(%1 axis 0) stacked(axis 0 reverse) : f32[], f32[T] loc("node 'sum'") {
      body(%4: f32[], %5: f32[]) {
        %6 = add(%4, %5) : f32[]
        yield %6, %6
      }
    }
    yield %2 "last", %3 "rows"
  }
})";

/// Whether a step is inside of quotes.
constexpr const char* kQuotes = R"(module {
  graph(%0 "s": f32[], %1 "xs": f32[T]) {
    %2 = constant f32[] [0]
    %3 = less(%2, %0) : boolean[]
    %4, %5 = loop carried(%3) scanned(%1 axis 0) stacked(axis 0) : boolean[], boolean[T] loc("node 'quotes'") {
      body(%6: boolean[], %7: f32[]) {
        %8 = constant f32[] [4]
        %9 = less(%8, %7) : boolean[]
        %10 = logical_xor(%6, %9) : boolean[]
        yield %10, %10
      }
    }
    yield %4 "last", %5 "rows"
  }
})";

/// An automaton by table, which counts modulo five, and a moving average of what it counts.
constexpr const char* kAutomaton = R"(module {
  graph(%0 "s": f32[], %1 "xs": f32[T]) {
    %2 = constant i64[] [3]
    %3, %4, %5, %6 = loop carried(%2, %0) scanned(%1 axis 0) stacked(axis 0, axis 0) : i64[], f32[], i64[T], f32[T] loc("node 'automaton'") {
      body(%7: i64[], %8: f32[], %9: f32[]) {
        %10 = constant i64[10] [0, 1, 2, 3, 4, 1, 2, 3, 4, 0]
        %11 = constant f32[] [2]
        %12 = less(%11, %9) : boolean[]
        %13 = cast(%12) {to = i64} : i64[]
        %14 = constant i64[] [5]
        %15 = mul(%13, %14) : i64[]
        %16 = add(%7, %15) : i64[]
        %17 = gather(%10, %16) {axis = 0} : i64[]
        %18 = cast(%17) {to = f32} : f32[]
        %19 = constant f32[] [0.5]
        %20 = mul(%8, %19) : f32[]
        %21 = add(%20, %18) : f32[]
        yield %17, %21, %17, %21
      }
    }
    yield %3 "last", %4 "average", %5 "states", %6 "rows"
  }
})";

/// An average of rows that are computed in blocks, since there are many.
constexpr const char* kBlocks = R"(module {
  graph(%0 "s": f32[1], %1 "xs": f32[T,2]) {
    %2 = neg(%1) : f32[T,2]
    %3, %4 = loop carried(%0) scanned(%2 axis 0) stacked(axis 0) : f32[1], f32[T,1] loc("node 'blocks'") {
      body(%5: f32[1], %6: f32[2]) {
        %7 = reduce(%6) {axes = [0], keepdims = 1, kind = "sum"} : f32[1]
        %8 = constant f32[] [0.5]
        %9 = mul(%5, %8) : f32[1]
        %10 = add(%9, %7) : f32[1]
        yield %10, %10
      }
    }
    yield %3 "last", %4 "rows"
  }
})";

/// Floats at the end of their memory: a read beyond ends the process.
class GuardedFloats {
 public:
  explicit GuardedFloats(std::size_t count) : count_(count) {
    const std::size_t bytes = count * sizeof(float);
    inside_ = (bytes + kPage - 1) / kPage * kPage;
    void* const made = mmap(nullptr, inside_ + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                            /*fd=*/-1, /*offset=*/0);
    if (made == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(made);
    if (mprotect(memory_ + kPage, inside_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  GuardedFloats(const GuardedFloats&) = delete;
  GuardedFloats& operator=(const GuardedFloats&) = delete;
  ~GuardedFloats() { munmap(memory_, inside_ + 2 * kPage); }

  [[nodiscard]] std::span<float> at_end() const {
    return {reinterpret_cast<float*>(memory_ + kPage + inside_) - count_, count_};
  }

 private:
  static constexpr std::size_t kPage = 1 << 16;  // a multiple of that of any machine
  std::size_t count_, inside_ = 0;
  std::byte* memory_ = nullptr;
};

class SpeculatedLoops : public ::testing::Test {
 protected:
  SpeculatedLoops() : compiler(jit_compiler(why_not)) {
    for (std::size_t i = 0; i < xs.size(); ++i) xs[i] = std::sin(static_cast<float>(i)) * 5;
  }

  // Only compiled loops are speculated.
  void SetUp() override {
    if (compiler == nullptr) GTEST_SKIP() << why_not;
  }

  std::shared_ptr<const plan::Plan> plan_for(const char* text, SpeculationMode mode) const {
    Expected<ir::Module> module = ir::parse(text, ops::find_op);
    EXPECT_TRUE(module) << module.error().message();
    plan::PlanOptions options;
    options.threads = 2;
    options.compiler = compiler;
    options.always_compile = true;
    options.speculation = mode;
    return plan::make_plan(*std::move(module), options);
  }

  std::vector<Tensor> feeds() const {
    const auto length = static_cast<std::int64_t>(xs.size());
    return {*Tensor::copy_of(DType::f32, {}, &start),
            *Tensor::copy_of(DType::f32, {length}, xs.data())};
  }

  Expected<runtime::RunResult> run(const plan::Plan& plan, int threads,
                                   const runtime::Limits& limits = {}) const {
    const auto shared = std::shared_ptr<const plan::Plan>(&plan, [](const plan::Plan*) {});
    const std::vector<Tensor> given = feeds();
    const std::byte* const data[] = {static_cast<const std::byte*>(given[0].data()),
                                     static_cast<const std::byte*>(given[1].data())};
    const std::vector<tensor::Shape> shapes = {given[0].shape(), given[1].shape()};
    SCANLOOM_TRY(auto binding, plan::bind(shared, shapes));
    SCANLOOM_TRY(auto made, runtime::Run::make(binding, 0, threads));
    return made->execute(data, limits);
  }

  void expect_same_bits(const char* text, int threads, const std::string& where) const {
    std::string strategies;
    const auto wanted = run_planned(plan_for(text, SpeculationMode::never), feeds(), 1, strategies);
    const auto plan = plan_for(text, SpeculationMode::always);
    const auto got = run_planned(plan, feeds(), threads, strategies);
    ASSERT_TRUE(wanted && got) << where;
    for (std::size_t i = 0; i < wanted->size(); ++i)
      ASSERT_EQ(std::memcmp((*got)[i].data(), (*wanted)[i].data(), (*wanted)[i].bytes()), 0)
          << where << ", output " << i;
  }

  std::string why_not;
  const jit::Plugin* compiler;
  float start = 100;
  std::vector<float> xs = std::vector<float>(3000);
};

TEST_F(SpeculatedLoops, HaveTheBitsOfStepsInOrder) {
  const float odd[] = {0, -0.0F, 1e-44F, std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN()};
  for (const char* const text : {kAverage, kSum, kQuotes, kAutomaton})
    for (const int threads : {1, 2, 7})
      for (const float value : odd) {
        xs[40] = xs[2000] = start = value;
        expect_same_bits(text, threads, std::to_string(value));
      }
}

TEST_F(SpeculatedLoops, MayHaveFewSteps) {
  for (const std::size_t length : {0, 1, 2, 3, 4, 7})
    for (const char* const text : {kAverage, kSum, kQuotes, kAutomaton}) {
      xs.resize(length);
      expect_same_bits(text, 7, std::to_string(length) + " steps");
    }
}

TEST_F(SpeculatedLoops, ReadNoBlockAfterTheLastRow) {
  constexpr std::int64_t kRows = 100'000;
  const GuardedFloats memory(2 * kRows);
  const std::span<float> rows = memory.at_end();
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = std::sin(static_cast<float>(i));
  const auto run_in = [&](SpeculationMode mode) {
    const auto plan = plan_for(kBlocks, mode);
    const std::vector<tensor::Shape> shapes = {{1}, {kRows, 2}};
    const auto binding = plan::bind(plan, shapes).value_or_throw();
    const plan::BoundLoop& loop = binding->loops[0];
    EXPECT_GT(loop.blocks.steps, 0);
    EXPECT_LT(loop.blocks.steps, kRows);
    EXPECT_EQ(loop.speculation.has_value(), mode == SpeculationMode::always);
    const std::byte* const data[] = {reinterpret_cast<const std::byte*>(&start),
                                     reinterpret_cast<const std::byte*>(rows.data())};
    auto made = runtime::Run::make(binding, 0, 2).value_or_throw();
    return made->execute(data, {}).value_or_throw().outputs;
  };
  const std::vector<Tensor> got = run_in(SpeculationMode::always);
  const std::vector<Tensor> wanted = run_in(SpeculationMode::never);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(std::memcmp(got[i].data(), wanted[i].data(), wanted[i].bytes()), 0) << i;
}

TEST_F(SpeculatedLoops, SayHowOftenTheyAgreed) {
  const auto plan = plan_for(kAverage, SpeculationMode::always);
  ASSERT_TRUE(run(*plan, 1));
  const auto binding = plan::bind(plan, std::vector<tensor::Shape>{{}, {3000}}).value_or_throw();
  const std::string text = plan::describe_speculation(*binding, binding->loops[0], 3000);
  EXPECT_THAT(text, HasSubstr("computed ahead by idle threads: 2 chunks agreed, at most "));
}

TEST_F(SpeculatedLoops, OfFewStatesAreTakenAgainInParts) {
  for (const char* const text : {kQuotes, kAutomaton}) {
    const auto plan = plan_for(text, SpeculationMode::always);
    const auto in_order = plan_for(text, SpeculationMode::never);
    // Chunks begin where all guesses are right for some lengths, and wrong for others.
    for (std::size_t length = 2950; length < 3000; length += 7) {
      xs.resize(length);
      const auto got = run(*plan, 1), wanted = run(*in_order, 1);
      ASSERT_TRUE(got && wanted);
      for (std::size_t i = 0; i < wanted->outputs.size(); ++i)
        ASSERT_EQ(std::memcmp(got->outputs[i].data(), wanted->outputs[i].data(),
                              wanted->outputs[i].bytes()),
                  0)
            << length << " steps, output " << i;
    }
    const auto binding = plan::bind(plan, std::vector<tensor::Shape>{{}, {2999}}).value_or_throw();
    EXPECT_THAT(plan::describe_speculation(*binding, binding->loops[0], 2999),
                HasSubstr("of wrong ones taken again by all threads, from paired states"));
    xs.resize(3000);
  }
}

TEST_F(SpeculatedLoops, AreLeftAloneIfTheyNeverAgree) {
  const auto plan = plan_for(kSum, SpeculationMode::always);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(run(*plan, 1));
  const auto binding = plan::bind(plan, std::vector<tensor::Shape>{{}, {3000}}).value_or_throw();
  EXPECT_EQ(plan::describe_speculation(*binding, binding->loops[0], 3000),
            "taken in order: 0 chunks agreed; none in 2 runs");
}

TEST_F(SpeculatedLoops, StopAtTheLimitsOfARun) {
  xs.resize(2'000'000);
  for (const char* const text : {kAverage, kSum})
    for (const auto mode : {SpeculationMode::automatic, SpeculationMode::always}) {
      const auto plan = plan_for(text, mode);
      const auto late = run(*plan, 2, {.deadline_seconds = 1e-4});
      ASSERT_FALSE(late);
      EXPECT_EQ(late.error().code(), Code::limit_reached);
      std::atomic<int> asked = 0;
      const auto cancelled = run(*plan, 2, {.cancelled = [&] { return ++asked > 2; }});
      ASSERT_FALSE(cancelled);
      EXPECT_EQ(cancelled.error().code(), Code::cancelled);
      const auto limited = run(*plan, 2, {.max_steps = 1'999'999});
      ASSERT_FALSE(limited);
      EXPECT_THAT(limited.error().message(), HasSubstr("step limit of 1999999"));
    }
}

TEST_F(SpeculatedLoops, TakeStepsInOrderWithoutMemoryForCheckpoints) {
  for (const bool has_memory : {false, true}) {
    const auto plan = plan_for(kAverage, SpeculationMode::always);
    const auto binding = plan::bind(plan, std::vector<tensor::Shape>{{}, {3000}}).value_or_throw();
    const std::int64_t known =
        binding->arena_bytes + binding->scratch_bytes + binding->result_bytes;
    const auto got = run(*plan, 2, {.max_memory = known + (has_memory ? 1 << 20 : 100)});
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(got->data_bytes, 0);
    const std::string text = plan::describe_speculation(*binding, binding->loops[0], 3000);
    if (has_memory)
      EXPECT_THAT(text, HasSubstr("2 chunks agreed"));
    else
      EXPECT_EQ(text, "");  // not tried
  }
}

TEST_F(SpeculatedLoops, MayRunAtOnce) {
  xs.resize(300'000);
  const auto plan = plan_for(kAverage, SpeculationMode::always);
  const auto wanted = run(*plan_for(kAverage, SpeculationMode::never), 1);
  ASSERT_TRUE(wanted);
  std::atomic<int> equal = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 4; ++k) {
        const auto got = run(*plan, 2);
        if (got && std::memcmp(got->outputs[2].data(), wanted->outputs[2].data(),
                               wanted->outputs[2].bytes()) == 0)
          ++equal;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 12);
}

TEST_F(SpeculatedLoops, AreNotSpeculatedWhereAConditionEndsThem) {
  const auto plan = plan_for(R"(module {
  graph(%0 "s": f32[], %1 "xs": f32[T]) {
    %2 = constant i64[] [200000]
    %3 = loop trip(%2) carried(%0) keep_going : f32[] loc("node 'until'") {
      body(%4: f32[]) {
        %5 = constant f32[] [0.5]
        %6 = mul(%4, %5) : f32[]
        %7 = less(%5, %6) : boolean[]
        yield %7, %6
      }
    }
    yield %3 "last"
  }
})",
                             SpeculationMode::always);
  const auto binding = plan::bind(plan, std::vector<tensor::Shape>{{}, {3}}).value_or_throw();
  EXPECT_EQ(plan::describe_speculation(*binding, binding->loops[0], 200'000),
            "taken in order: a condition may end the loop");
}

}  // namespace
}  // namespace scanloom::differential
