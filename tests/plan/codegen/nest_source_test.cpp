// Exponentials of values that cannot exceed 0: which nests use the shorter function, and which do
// not.
#include "plan/codegen/nest_source.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/parse.h"
#include "ops/ops.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

using tensor::ScalarOp;

/// A reader of %2 that no call computes together with others, so that the exponential is a call of
/// its own.
constexpr const char* kApart = "    %9 = reduce(%2) {kind = \"prod\", keepdims = 0} : f32[]\n";

/// Whether exp(%2), which `body` makes of x, %0, and of y, %1, both f32[4,4], is exp_nonpositive.
bool is_shorter(const std::string& body, const std::string& type = "f32[4,4]") {
  const std::string text = "module \"exp\" {\n  graph(%0 \"x\": f32[4,4], %1 \"y\": f32[4,4]) {\n" +
                           body + kApart + "    %3 = exp(%2) : " + type +
                           "\n    yield %3 \"e\", %9 \"n\"\n  }\n}\n";
  Expected<ir::Module> module = ir::parse(text, ops::find_op);
  EXPECT_TRUE(module) << module.error().message();
  if (!module) return false;
  const auto plan = make_plan(*std::move(module), {});
  const std::vector<tensor::Shape> shapes{{4, 4}, {4, 4}};
  const auto binding = plan::bind(plan, shapes);
  EXPECT_TRUE(binding) << binding.error().message();
  bool found = false, shorter = false;
  for (const BoundCall& call : (*binding)->calls) {
    const CallView view(*plan, **binding, call);
    if (view.node().op != &ops::exp_op) continue;
    for (const loopnest::Nest& nest : nests_of(view))
      for (const tensor::ScalarInstr& instr : nest.program.instrs) {
        found |= instr.op == ScalarOp::exp;
        shorter |= instr.op == ScalarOp::exp_nonpositive;
      }
  }
  EXPECT_NE(found, shorter) << text;
  return shorter;
}

TEST(NestSource, DifferencesFromTheGreatestAreNotMoreThanZero) {
  EXPECT_TRUE(is_shorter(R"(
    %4 = reduce(%0) {kind = "max", axes = [1], keepdims = 1} : f32[4,1]
    %2 = sub(%0, %4) : f32[4,4]
)"));
  EXPECT_TRUE(is_shorter(R"(
    %4 = reduce(%0) {kind = "max", axes = [0], keepdims = 0} : f32[4]
    %5 = unsqueeze(%4) {axes = [0]} : f32[1,4]
    %2 = sub(%0, %5) : f32[4,4]
)"));
  EXPECT_TRUE(is_shorter(R"(
    %4 = reduce(%0) {kind = "max", axes = [-1], keepdims = 0} : f32[4]
    %5 = unsqueeze(%4) {axes = [-1]} : f32[4,1]
    %2 = sub(%0, %5) : f32[4,4]
)"));
  EXPECT_TRUE(is_shorter(R"(
    %4 = reduce(%0) {kind = "max", keepdims = 0} : f32[]
    %2 = sub(%0, %4) : f32[4,4]
)"));
}

TEST(NestSource, DifferencesFromTheGreaterOfTwoAreNotMoreThanZero) {
  EXPECT_TRUE(is_shorter(R"(
    %4 = max(%1, %0) : f32[4,4]
    %2 = sub(%0, %4) : f32[4,4]
)"));
  EXPECT_TRUE(is_shorter(R"(
    %4 = reduce(%0) {kind = "max", axes = [1], keepdims = 1} : f32[4,1]
    %5 = max(%1, %4) : f32[4,4]
    %2 = sub(%0, %5) : f32[4,4]
)"));
}

TEST(NestSource, OtherDifferencesMayBeMoreThanZero) {
  // The maximum of each column, subtracted along rows.
  EXPECT_FALSE(is_shorter(R"(
    %4 = reduce(%0) {kind = "max", axes = [0], keepdims = 0} : f32[4]
    %5 = unsqueeze(%4) {axes = [1]} : f32[4,1]
    %2 = sub(%0, %5) : f32[4,4]
)"));
  EXPECT_FALSE(is_shorter(R"(
    %4 = reduce(%0) {kind = "max", axes = [1], keepdims = 0} : f32[4]
    %2 = sub(%0, %4) : f32[4,4]
)"));
  EXPECT_FALSE(is_shorter(R"(
    %4 = reduce(%0) {kind = "min", axes = [1], keepdims = 1} : f32[4,1]
    %2 = sub(%0, %4) : f32[4,4]
)"));
  EXPECT_FALSE(is_shorter(R"(
    %4 = reduce(%1) {kind = "max", axes = [1], keepdims = 1} : f32[4,1]
    %2 = sub(%0, %4) : f32[4,4]
)"));
  EXPECT_FALSE(is_shorter(R"(
    %4 = max(%1, %0) : f32[4,4]
    %2 = sub(%4, %0) : f32[4,4]
)"));
  EXPECT_FALSE(is_shorter("    %2 = sub(%0, %1) : f32[4,4]\n"));
}

}  // namespace
}  // namespace scanloom::plan
