// Regions of branches compute the values that only they read, and only if they are taken.
#include <scanloom/function.h>
#include <scanloom/grad.h>
#include <scanloom/scan.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expr/region_assignment.h"

namespace scanloom {
namespace {

using testing::ElementsAre;

double run(const Function& f, double x, std::int64_t i) {
  return f({view(&x, {}), view(&i, {})}).value_or_throw()[0].as<double>()[0];
}

struct Branch : testing::Test {
  const Expr x = input("x", DType::f64, {}), i = input("i", DType::i64, {});
  const Expr table = constant({1.0, 2.0, 4.0});
  const Expr picked = table[i];

  [[nodiscard]] Function compiled(const Expr& result) const {
    return Function::compile({x, i}, {result}).value_or_throw();
  }
};

TEST_F(Branch, ComputesASideWhereItIsTaken) {
  const Function f = compiled(if_else(i < 3, picked * x, x));
  EXPECT_EQ(run(f, 10, 2), 40);
  EXPECT_EQ(run(f, 10, 7), 10);
}

TEST_F(Branch, SidesOfTwoBranchesMayNeedTheSame) {
  const Function f = compiled(if_else(i < 3, picked * x, x) + if_else(i < 2, picked, 0.0));
  EXPECT_EQ(run(f, 10, 1), 22);
  EXPECT_EQ(run(f, 10, 2), 40);
  EXPECT_EQ(run(f, 10, 7), 10);
}

TEST_F(Branch, OfManyResultsComputesWhatTheyShareInTheSide) {
  const auto both = if_else(i < 3, {picked * x, picked}, {x, Expr(0)});
  const Function f = compiled(both[0] + both[1]);
  EXPECT_EQ(run(f, 10, 2), 44);
  EXPECT_EQ(run(f, 10, 7), 10);
}

TEST_F(Branch, InALoopLeavesOutWhatMayFail) {
  const Expr sums = scan({.initial = {x}, .steps = 3}, [&](const StepInputs& step) {
    return if_else((step.state(0) < 100) & (i < 3), step.state(0) + picked, step.state(0) * 2);
  });
  const Function f = compiled(sums[-1]);
  EXPECT_EQ(run(f, 1, 2), 13);
  EXPECT_EQ(run(f, 1, 3), 8);
}

TEST_F(Branch, ValuesInSidesAreReplaced) {
  const Expr y = x * 2, chosen = if_else(i < 3, exp(y), y);
  const Function f = compiled(substitute({chosen}, {{y, x + 1}})[0]);
  EXPECT_EQ(run(f, -1, 0), 1);
  EXPECT_EQ(run(f, -1, 5), 0);
}

TEST_F(Branch, SidesPromote) {
  EXPECT_EQ(if_else(i < 3, x, i).dtype(), DType::f64);
  EXPECT_NE(if_else(i < 3, x, table).error(), nullptr);
  EXPECT_NE(if_else(table, x, x).error(), nullptr);
  EXPECT_NE(if_else(i < 3, {x, x}, {x})[1].error(), nullptr);
}

/// Each branch reads the one before in one side, in both, and as another branch does.
TEST_F(Branch, LongChainsAreBuiltInTime) {
  Expr in_one = x, in_both = x, a = x, b = x;
  for (int k = 0; k < 400; ++k) {
    in_one = if_else(i < k, in_one * 0.5 + 1, Expr(1));
    in_both = if_else(i < k, in_both * 0.5 + 1, in_both + 1);
    const Expr next = if_else(i < k, a * 0.5 + b, Expr(1));
    b = if_else(i < k, a - b * 0.5, Expr(1));
    a = next;
  }
  const Function f = compiled(in_one + in_both + a);
  EXPECT_EQ(run(f, 10, 400), 10 + 400 + 1 + 1);
  EXPECT_NEAR(run(compiled(in_one), 10, -1), 2, 1e-12);
}

TEST(RegionAssignment, FollowTheSides) {
  const Expr x = input("x", DType::f64, {}), c = input("c", DType::boolean, {});
  const Expr left = exp(x), right = sin(x), both = cos(x), outside = tanh(x);
  const Expr chosen = if_else(c, left + both + outside, right + both);
  const std::vector<Expr> outputs{chosen, outside};
  const expr::RegionAssignment regions(outputs);
  const auto then = regions.branch_region(0, *chosen.node(), 0),
             otherwise = regions.branch_region(0, *chosen.node(), 1);
  EXPECT_EQ(regions.count(), 3U);
  EXPECT_TRUE(regions.is_at(*left.node(), then) && !regions.is_always(*left.node()));
  EXPECT_TRUE(regions.is_at(*right.node(), otherwise));
  EXPECT_TRUE(regions.is_always(*both.node()));
  EXPECT_TRUE(regions.is_always(*outside.node()));
  EXPECT_TRUE(regions.is_always(*x.node()));
}

}  // namespace
}  // namespace scanloom
