// Loops with more states than registers: which strategy they get, how much code the compiler is
// given, and that their results equal those of per-step execution.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "api/jit_plugin.h"
#include "ir/parse.h"
#include "ops/ops.h"
#include "plan/binding.h"
#include "tests/differential/ways.h"

namespace scanloom::differential {
namespace {

using tensor::Shape;
using tensor::Tensor;
using testing::HasSubstr;

/// s_i <- tanh(s_j * x) with j = i + 1, or 0 after the last: each state is read by another one.
std::string ring(std::size_t states, std::int64_t lanes, std::int64_t steps) {
  const std::string type = "f32[" + std::to_string(lanes) + "]";
  const auto value = [](std::size_t index) { return "%" + std::to_string(index); };
  const std::size_t x = states, argument = 2 * states + 1, slice = argument + states;
  std::string inputs, carried, types, arguments, body, yields;
  for (std::size_t i = 0; i < states; ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    inputs += value(i) + ": " + type + ", ";
    carried += comma + value(i);
    types += comma + type;
    arguments += value(argument + i) + ": " + type + ", ";
    const std::size_t product = slice + 1 + 2 * i, read = argument + (i + 1) % states;
    body += value(product) + " = mul(" + value(read) + ", " + value(slice) + ") : " + type + "\n" +
            value(product + 1) + " = tanh(" + value(product) + ") : " + type + "\n";
    yields += comma + value(product + 1);
  }
  std::string results;
  for (std::size_t i = 0; i < states; ++i) results += (i == 0 ? "" : ", ") + value(states + 1 + i);
  std::string text = "module \"ring\" { graph(" + inputs + value(x) + ": f32[" +
                     std::to_string(steps) + "," + std::to_string(lanes) + "]) {\n" + results +
                     " = loop carried(" + carried + ") scanned(" + value(x) +
                     " axis 0) : " + types + " { body(" + arguments + value(slice) + ": " + type +
                     ") {\n" + body + "yield " + yields + " } }\nyield ";
  for (std::size_t i = 0; i < states; ++i)
    text += (i == 0 ? "" : ", ") + value(states + 1 + i) + " \"last" + std::to_string(i) + "\"";
  return text + " } }";
}

/// A state that moves by one place and is then summed up with itself, again and again.
std::string sums(std::size_t count, std::int64_t size) {
  const std::string type = "f32[" + std::to_string(size) + "]";
  const auto value = [](std::size_t index) { return "%" + std::to_string(index); };
  std::string body =
      "%4 = constant i64[2] [1, -1]\n%5 = pad(%3, %4) {mode = \"constant\"} : " + type;
  for (std::size_t i = 6; i < 6 + count; ++i)
    body += "\n" + value(i) + " = add(" + value(i - 1) + ", " + value(i == 6 ? 3 : i - 2) +
            ") : " + type;
  return "module \"sums\" { graph(%0: " + type + ") {\n%1 = constant i64[] [3]\n" +
         "%2 = loop trip(%1) carried(%0) : " + type + " { body(%3: " + type + ") {\n" + body +
         "\nyield " + value(5 + count) + " } }\nyield %2 \"last\" } }";
}

/// Limit per state of 64 lanes: with 32-byte vectors, 62 instructions in four blocks.
constexpr std::size_t kInstructionsOfState = 80;

class ManyStates : public testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    compiler_ = jit_compiler(why_not);
    if (compiler_ == nullptr) GTEST_SKIP() << why_not;
  }

  std::shared_ptr<const plan::Binding> bind(std::size_t states, std::int64_t lanes,
                                            std::int64_t steps, bool always) {
    const Expected<ir::Module> module = ir::parse(ring(states, lanes, steps), ops::find_op);
    if (!module) return ADD_FAILURE() << module.error().message(), nullptr;
    plan::PlanOptions options;
    options.compiler = compiler_;
    options.always_compile = always;
    std::vector<Shape> shapes(states, Shape{lanes});
    shapes.push_back({steps, lanes});
    const auto binding = plan::bind(plan::make_plan(*module, options), shapes);
    if (!binding) return ADD_FAILURE() << binding.error().message(), nullptr;
    return *binding;
  }

  std::string strategy(std::size_t states, std::int64_t lanes, std::int64_t steps, bool always) {
    const auto binding = bind(states, lanes, steps, always);
    return binding == nullptr ? "" : describe_strategy(*binding, binding->loops[0]);
  }

  const jit::Plugin* compiler_ = nullptr;
};

TEST_F(ManyStates, FewAreOneFunctionAndManyLieInMemory) {
  EXPECT_THAT(strategy(8, 64, 300, false),
              testing::StartsWith("stepped: too few steps to repay compilation"));
  EXPECT_THAT(strategy(8, 64, 30'000, false), testing::StartsWith("compiled as a whole loop: "));
  EXPECT_THAT(strategy(8, 64, 300, true), testing::StartsWith("compiled as a whole loop: "));
  for (const std::int64_t lanes : {1, 16, 64, 1000}) {
    const std::string text = strategy(100, lanes, 3, true);
    EXPECT_THAT(text, testing::StartsWith("compiled per step: "));
    EXPECT_THAT(text, HasSubstr("not one program for each element: 100 states do not fit in"));
  }
}

TEST_F(ManyStates, AreSteppedUntilCompilingPays) {
  for (const std::int64_t lanes : {1, 16, 64, 1000}) {
    const std::string text = strategy(100, lanes, 100, false);
    EXPECT_THAT(text, testing::StartsWith("stepped: too few steps to repay compilation; "));
    EXPECT_THAT(text, HasSubstr("; compiled after "));
  }
  EXPECT_THAT(strategy(100, 64, 1'000'000, false), testing::StartsWith("compiled per step: "));
}

// The reason is the one that will not go away with more steps.
TEST_F(ManyStates, OfMoreThanAreCompiledTheNumberIsTold) {
  EXPECT_THAT(strategy(1500, 4, 3, true),
              AllOf(HasSubstr("more than the limit of"), HasSubstr("for compiling at once")));
  EXPECT_THAT(strategy(1000, 1000, 3, true),
              AllOf(HasSubstr("more than the limit of"), HasSubstr("for a compiled body")));
}

// Each of 32 values of 64 KiB is made once and read twice: 6 MiB of reads and writes together.
TEST_F(ManyStates, ValuesCountOnceHoweverManyReadThem) {
  const Expected<ir::Module> module = ir::parse(sums(32, 16384), ops::find_op);
  ASSERT_TRUE(module) << module.error().message();
  plan::PlanOptions options;
  options.compiler = compiler_;
  options.always_compile = true;
  const auto binding = plan::bind(plan::make_plan(*module, options), {{Shape{16384}}});
  ASSERT_TRUE(binding) << binding.error().message();
  EXPECT_THAT(describe_strategy(**binding, (*binding)->loops[0]),
              testing::StartsWith("compiled per step: "));
}

TEST_F(ManyStates, GiveTheCompilerWhatGrowsLikeThem) {
#ifdef SCANLOOM_SANITIZED
  constexpr std::int64_t kLanes[] = {64};  // sizes of code, which are the same there
#else
  constexpr std::int64_t kLanes[] = {1, 16, 64};
#endif
  for (const std::int64_t lanes : kLanes) {
    const auto small = bind(250, lanes, 3, true), large = bind(500, lanes, 3, true);
    ASSERT_TRUE(small != nullptr && large != nullptr);
    const jit::CodeSize few = small->loops[0].per_step.code.code.size,
                        many = large->loops[0].per_step.code.code.size;
    ASSERT_GT(few.instructions, 0U);
    EXPECT_LE(many.instructions, few.instructions * 5 / 2) << lanes << " lanes";
    EXPECT_LE(many.instructions, 500 * kInstructionsOfState) << lanes << " lanes";
  }
}

TEST_F(ManyStates, AThousandTakeSecondsAtMost) {
#ifdef SCANLOOM_SANITIZED
  constexpr std::clock_t kSeconds = 60;
#else
  constexpr std::clock_t kSeconds = 30;
#endif
  const std::clock_t before = std::clock();  // other programs may keep the processor busy
  const auto binding = bind(1000, 64, 3, true);
  ASSERT_TRUE(binding != nullptr);
  ASSERT_NE(binding->loops[0].per_step.code.code.run, nullptr);
  EXPECT_LT((std::clock() - before) / CLOCKS_PER_SEC, kSeconds);
  EXPECT_LE(binding->loops[0].per_step.code.code.size.instructions, 1000 * kInstructionsOfState);
}

TEST_F(ManyStates, HaveTheResultsOfSteps) {
  struct Size {
    std::size_t states;
    std::int64_t lanes;
  };
  for (const auto& [states, lanes] : {Size{70, 1}, {70, 16}, {100, 21}, {100, 64}, {200, 1}}) {
    const Expected<ir::Module> module = ir::parse(ring(states, lanes, 5), ops::find_op);
    ASSERT_TRUE(module) << module.error().message();
    const std::vector<Tensor> feeds = feeds_of(*module, 5);
    std::string stepped, compiled;
    const auto wanted = run_planned(plan_of(*module, nullptr), feeds, 1, stepped);
    const auto got = run_planned(plan_of(*module, compiler_), feeds, 1, compiled);
    ASSERT_TRUE(wanted && got);
    EXPECT_THAT(compiled, testing::StartsWith("compiled per step"));
    const std::string where = std::to_string(states) + " states of " + std::to_string(lanes);
    for (std::size_t i = 0; i < wanted->size(); ++i)
      expect_identical((*got)[i], (*wanted)[i], where);
  }
}

}  // namespace
}  // namespace scanloom::differential
