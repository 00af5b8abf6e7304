// Which rows are blocked over steps, and how much memory that takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/parse.h"
#include "ops/ops.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

using ::testing::HasSubstr;

/// A loop over what `makers` make of x f32[T,3] and w f32[3,64]: the values that it scans are
/// %8 f32[T,64], and %9 f32[T,64] where it is read by `also`.
std::string module_with(const std::string& makers, const std::string& also = "") {
  return R"(module "rows" {
  graph(%0 "x": f32[T,3], %1 "w": f32[3,64], %2 "h0": f32[64]) {
    %3 = dim(%0) {axis = 0} : i64[]
)" + makers +
         R"(
    %20 = loop trip(%3) carried(%2) scanned(%8 axis 0) : f32[64] {
      body(%21: f32[64], %22: f32[64]) {
        %23 = sub(%22, %21) : f32[64]
        yield %23
      }
    }
    yield %20 "h")" +
         also + "\n  }\n}\n";
}

std::shared_ptr<const Binding> bound_rows(const std::string& text, std::int64_t steps) {
  Expected<ir::Module> module = ir::parse(text, ops::find_op);
  if (!module) {
    ADD_FAILURE() << module.error().text();
    return nullptr;
  }
  auto binding = plan::bind(make_plan(*std::move(module), {}),
                            std::vector<tensor::Shape>{{steps, 3}, {3, 64}, {64}});
  if (!binding) ADD_FAILURE() << binding.error().text();
  return binding ? *binding : nullptr;
}

constexpr const char* kProduct = "%8 = contract(%0, %1) {spec = \"tk,kn->tn\"} : f32[T,64]";

TEST(BlockPlan, MemoryDoesNotGrowWithTheSteps) {
  for (const char* makers : {
           kProduct,
           "%5 = exp(%0) : f32[T,3]\n"
           "%6 = contract(%5, %1) {spec = \"tk,kn->tn\"} : f32[T,64]\n"
           "%7 = add(%6, %2) : f32[T,64]\n"
           "%8 = tanh(%7) : f32[T,64]",
           "%5 = unsqueeze(%0) {axes = [1]} : f32[T,1,3]\n"
           "%6 = contract(%5, %1) {spec = \"tbk,kn->tbn\"} : f32[T,1,64]\n"
           "%8 = squeeze(%6) {axes = [1]} : f32[T,64]",
           // Rows that several others are made of, and reductions of them.
           "%5 = contract(%0, %1) {spec = \"tk,kn->tn\"} : f32[T,64]\n"
           "%6 = reduce(%5) {kind = \"max\", axes = [1], keepdims = 0} : f32[T]\n"
           "%7 = unsqueeze(%6) {axes = [1]} : f32[T,1]\n"
           "%8 = sub(%5, %7) : f32[T,64]",
           "%5 = contract(%0, %1) {spec = \"tk,kn->tn\"} : f32[T,64]\n"
           "%6 = exp(%5) : f32[T,64]\n"
           "%7 = reduce(%6) {kind = \"sum\", axes = [-1], keepdims = 1} : f32[T,1]\n"
           "%8 = div(%6, %7) : f32[T,64]\n"
           "%9 = dim(%8) {axis = 0} : i64[]",
       }) {
    const auto few = bound_rows(module_with(makers), 4000),
               many = bound_rows(module_with(makers), 400'000);
    ASSERT_TRUE(few && many);
    EXPECT_LE(many->arena_bytes, 1 << 20) << makers;
    EXPECT_GE(many->loops[0].blocks.steps, 128);
    EXPECT_LE(many->loops[0].blocks.steps, 4000);
    EXPECT_THAT(print(*many), HasSubstr("are made in blocks of"));
    EXPECT_LE(few->arena_bytes, 1 << 20) << makers;
  }
}

TEST(BlockPlan, FewStepsAreOneBlock) {
  const auto binding = bound_rows(module_with(kProduct), 100);
  ASSERT_TRUE(binding);
  EXPECT_EQ(binding->loops[0].blocks.steps, 100);
}

TEST(BlockPlan, WhatIsNeededAsAWholeIsMadeAsAWhole) {
  const std::string read_twice = module_with(kProduct, ", %8 \"rows\"");
  const std::string across = module_with(
      "%6 = contract(%0, %1) {spec = \"tk,kn->tn\"} : f32[T,64]\n"
      "%8 = softmax(%6) {axis = 0} : f32[T,64]");
  // All rows of x in each row of the result, too.
  const std::string with_all = module_with(
      "%6 = contract(%0, %0) {spec = \"tk,sk->ts\"} : f32[T,T]\n"
      "%7 = contract(%0, %1) {spec = \"sk,kn->sn\"} : f32[T,64]\n"
      "%8 = contract(%6, %7) {spec = \"ts,sn->tn\"} : f32[T,64]");
  // The product reads x by rows, the reduction makes all of x's rows into one.
  const std::string also_as_one = module_with(
      "%5 = reduce(%0) {kind = \"max\", axes = [0], keepdims = 1} : f32[1,3]\n"
      "%6 = sub(%0, %5) : f32[T,3]\n"
      "%7 = contract(%6, %6) {spec = \"tk,sk->ts\"} : f32[T,T]\n"
      "%9 = contract(%6, %1) {spec = \"sk,kn->sn\"} : f32[T,64]\n"
      "%8 = contract(%7, %9) {spec = \"ts,sn->tn\"} : f32[T,64]");
  for (const std::string& text : {read_twice, across, with_all, also_as_one}) {
    const auto binding = bound_rows(text, 1000);
    ASSERT_TRUE(binding);
    EXPECT_EQ(binding->loops[0].blocks.steps, 0) << text;
  }
}

}  // namespace
}  // namespace scanloom::plan
