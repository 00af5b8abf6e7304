// What people are told of a loop's strategy: the reason that is one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

  const jit::Plugin* compiler_ = nullptr;
};

// The same body is compiled if it takes more steps: nothing in it is in the way.
TEST_F(Explain, FewStepsAreTheReasonWhereMoreWouldBeCompiled) {
  EXPECT_THAT(strategy(kSum, 1000),
              AllOf(StartsWith("stepped: so few steps do not pay for compiling; compiled after "),
                    Not(HasSubstr("element-wise"))));
}

TEST_F(Explain, CodeOfABodyTellsWhatKeepsItFromOneProgram) {
  for (const bool always : {false, true})
    EXPECT_THAT(
        strategy(kSum, always ? 1000 : 100'000'000, always),
        AllOf(StartsWith("compiled step by step: "), HasSubstr("; not one program over lanes: "),
              HasSubstr("is not element-wise")));
}

TEST_F(Explain, OneProgramNeedsNoReason) {
  EXPECT_THAT(strategy(kScaled, 1000),
              AllOf(StartsWith("compiled: "), Not(HasSubstr("not one program"))));
  EXPECT_THAT(strategy(kScaled, 10),
              StartsWith("stepped: so few steps do not pay for compiling; compiled after "));
}

}  // namespace
}  // namespace scanloom::plan
