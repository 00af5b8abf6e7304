// The description of a loop's strategy that users read, with the reason that applies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "api/jit_plugin.h"
#include "ir/parse.h"
#include "ops/ops.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// s <- %6, which `body` makes of s and the slice %4, of 8 elements.
std::string loop_of(const std::string& steps, const std::string& body) {
  return "module { graph(%0 \"s\": f32[8], %1 \"xs\": f32[" + steps +
         ",8]) { %2 = loop carried(%0) " +
         "scanned(%1 axis 0) : f32[8] { body(%3: f32[8], %4: f32[8]) { " + body +
         " yield %6 } } yield %2 \"last\" } }";
}

constexpr const char* kSum =
    "%5 = reduce(%4) {axes = [0], keepdims = 1, kind = \"sum\"} : f32[1] "
    "%6 = mul(%3, %5) : f32[8]";

constexpr const char* kScaled = "%5 = neg(%4) : f32[8] %6 = mul(%3, %5) : f32[8]";

class Explain : public testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    compiler_ = jit_compiler(why_not);
    if (compiler_ == nullptr) GTEST_SKIP() << why_not;
  }

  std::string strategy(const std::string& body, std::int64_t steps, bool always = false) {
    const Expected<ir::Module> module =
        ir::parse(loop_of(std::to_string(steps), body), ops::find_op);
    if (!module) return module.error().message();
    PlanOptions options;
    options.compiler = compiler_;
    options.always_compile = always;
    const auto binding =
        plan::bind(make_plan(*module, options), std::vector<tensor::Shape>{{8}, {steps, 8}});
    return binding ? describe_strategy(**binding, (*binding)->loops[0]) : binding.error().message();
  }

  /// Binds a module for an f32[8] and an i64[100].
  std::shared_ptr<const Binding> bind(const std::string& text, bool always) {
    const Expected<ir::Module> module = ir::parse(text, ops::find_op);
    if (!module) throw std::runtime_error(module.error().message());
    PlanOptions options;
    options.compiler = compiler_;
    options.always_compile = always;
    auto binding = plan::bind(make_plan(*module, options), std::vector<tensor::Shape>{{8}, {100}});
    if (!binding) throw std::runtime_error(binding.error().message());
    return *std::move(binding);
  }

  const jit::Plugin* compiler_ = nullptr;
};

// The same body is compiled if it takes more steps: nothing in it is in the way.
TEST_F(Explain, FewStepsAreTheReasonWhereMoreWouldBeCompiled) {
  EXPECT_THAT(strategy(kSum, 1000),
              AllOf(StartsWith("stepped: too few steps to repay compilation; compiled after "),
                    Not(HasSubstr("element-wise"))));
}

TEST_F(Explain, CodeOfABodyTellsWhatKeepsItFromOneProgram) {
  for (const bool always : {false, true})
    EXPECT_THAT(
        strategy(kSum, always ? 1000 : 100'000'000, always),
        AllOf(StartsWith("compiled per step: "), HasSubstr("; not one program for each element: "),
              HasSubstr("is not element-wise")));
}

TEST_F(Explain, OneStepIsStepped) {
  EXPECT_THAT(strategy(kSum, 1, true), StartsWith("stepped: the body's code takes over"));
}

// Known sizes let the nodes around the one in the way be compiled, and that node is named.
TEST_F(Explain, PartsOfABodyTellWhatIsBetweenThem) {
  const std::string body =
      "%5 = mul(%3, %4) : f32[8] %7 = tanh(%5) : f32[8] %8 = non_zero(%7) : i64[1,?0] "
      "loc(\"node 'find'\") %9 = size(%8) : i64[] %10 = cast(%9) {to = f32} : f32[] "
      "%11 = mul(%7, %10) : f32[8] %6 = sin(%11) : f32[8]";
  EXPECT_THAT(
      strategy(body, 1000),
      AllOf(StartsWith("stepped: "), HasSubstr("holds node 'find', whose sizes depend on data"),
            HasSubstr("; its outlined regions are compiled after ")));
  EXPECT_THAT(strategy(body, 1000, true),
              AllOf(StartsWith("compiled in outlined regions: 2 pieces of code with "),
                    HasSubstr("holds node 'find', whose sizes depend on data")));
}

TEST_F(Explain, OneProgramNeedsNoReason) {
  EXPECT_THAT(strategy(kScaled, 10'000'000),
              AllOf(StartsWith("compiled as a whole loop: "), Not(HasSubstr("not one program"))));
  EXPECT_THAT(strategy(kScaled, 1000),
              StartsWith("stepped: too few steps to repay compilation; compiled after "));
}

/// An outer loop, each step of which takes another loop of as many steps as a value says.
std::string nested(const std::string& stacked, const std::string& inner_body) {
  return R"(module { graph(%0 "s": f32[8], %1 "n": i64[100]) {
    %2 = loop carried(%0) scanned(%1 axis 0) : f32[8] loc("node 'outer'") {
      body(%3: f32[8], %4: i64[]) {
        %5)" +
         std::string(stacked.empty() ? "" : ", %6") + " = loop trip(%4) carried(%3) " + stacked +
         (stacked.empty() ? " : f32[8]" : " : f32[8], f32[?0,8]") +
         R"( loc("node 'inner'") { body(%7: f32[8]) { )" + inner_body + R"( } }
        yield %5 } }
    yield %2 "last" } })";
}

TEST_F(Explain, LoopsInsideAreToldToBePartsOfTheCode) {
  const std::string text =
      nested("", R"(%8 = reduce(%7) {axes = [0], keepdims = 1, kind = "mean"} : f32[1]
                    %9 = sub(%7, %8) : f32[8] yield %9)");
  const auto binding = bind(text, true);
  EXPECT_THAT(describe_strategy(*binding, binding->loops[0]), StartsWith("compiled per step"));
  EXPECT_THAT(describe_strategy(*binding, binding->loops[1]),
              AllOf(StartsWith("part of the code of "), HasSubstr("'outer'")));
}

TEST_F(Explain, LoopsInsideThatMayBecomeCodeThemselvesAreWaitedFor) {
  const auto binding = bind(nested("", "%8 = neg(%7) : f32[8] yield %8"), false);
  EXPECT_THAT(describe_strategy(*binding, binding->loops[0]),
              AllOf(HasSubstr("the first steps show how long inner loops are"),
                    HasSubstr("unless one of these takes 256")));
}

TEST_F(Explain, StatesWhoseSizeOnlyTheRunKnowsHaveNoTwoBuffers) {
  const auto binding = bind(R"(module { graph(%0 "x": f32[8], %1 "counts": i64[100]) {
    %2, %3 = loop captured(%1) carried(%0, %0) scanned(%1 axis 0) : f32[?0], f32[8] {
      body(%4: i64[100], %5: f32[?0], %6: f32[8], %7: i64[]) {
        %8 = concat(%5, %6) {axis = 0} : f32[?1]
        %9 = neg(%6) : f32[8]
        yield %8, %9
      }
    }
    yield %2 "grown", %3 "last"
  } })",
                            false);
  EXPECT_THAT(
      describe_states(*binding, binding->loops[0]),
      testing::ElementsAre(HasSubstr("reserved at run time"), HasSubstr("double-buffered")));
}

// Half precision is widened by machine code, but no kernel multiplies it.
constexpr const char* kHalf = R"(module {
  graph(%0 "h": f16[1,8], %1 "xs": f16[5,1,8], %2 "w": f16[8,8]) {
    %3 = loop captured(%2) carried(%0) scanned(%1 axis 0) : f16[1,8] {
      body(%4: f16[8,8], %5: f16[1,8], %6: f16[1,8]) {
        %7 = contract(%5, %4) {spec = "mk,kn->mn"} : f16[1,8] loc("node 'product'")
        %8 = add(%7, %6) : f16[1,8]
        yield %8
      }
    }
    yield %3 "last"
  }
})";

std::vector<std::string> plain_calls(const jit::Plugin* compiler) {
  const Expected<ir::Module> module = ir::parse(kHalf, ops::find_op);
  if (!module) throw std::runtime_error(module.error().message());
  PlanOptions options;
  options.compiler = compiler;
  options.always_compile = true;
  const std::vector<tensor::Shape> shapes{{1, 8}, {5, 1, 8}, {8, 8}};
  const auto binding = plan::bind(make_plan(*module, options), shapes).value_or_throw();
  return describe_plain_calls(*binding, binding->loops[0]);
}

TEST(ExplainCalls, ThoseThatKernelsDeclineGiveTheReason) {
  EXPECT_THAT(plain_calls(nullptr),
              testing::ElementsAre("node 'product'; contract: only f32, f64, i32 and u32"));
}

TEST_F(Explain, CallsThatMachineCodeReplacesAreNotListed) {
  EXPECT_THAT(plain_calls(compiler_), testing::IsEmpty());
}

TEST_F(Explain, RowsOfALoopInsideAreTheReasonWhereOnlyTheRunKnowsTheirNumber) {
  const auto binding = bind(nested("stacked(axis 0)", "%8 = neg(%7) : f32[8] yield %8, %8"), true);
  EXPECT_THAT(
      describe_strategy(*binding, binding->loops[0]),
      HasSubstr("holds node 'inner', a loop that stacks a number of rows known only at run time"));
}

}  // namespace
}  // namespace scanloom::plan
