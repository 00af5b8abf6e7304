// The gradient of every function of one real operand, compared with central differences in f64. An
// operator that is added to src/ops/list.inc is tested here without being named.
#include <scanloom/function.h>
#include <scanloom/grad.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "expr/apply.h"
#include "grad/rules.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

/// Functions of one real operand with a rule and without attributes.
std::vector<const ir::OpDef*> functions() {
  std::vector<const ir::OpDef*> found;
  for (const ir::OpDef* op : ops::all_ops()) {
    const RuleRow* row = find_rule(*op);
    if (op->access == ir::Access::pointwise && op->inputs.size() == 1 && op->attrs.empty() &&
        row != nullptr && row->rule != nullptr)
      found.push_back(op);
  }
  return found;
}

std::vector<double> call(const Function& f, const std::vector<double>& x, std::size_t output) {
  const std::vector<View> views{view(x.data(), {static_cast<std::int64_t>(x.size())})};
  const std::vector<Value> results = f.call(views).value_or_throw();
  const auto values = results[output].as<double>();
  return {values.begin(), values.end()};
}

std::vector<double> moved(std::vector<double> x, double step) {
  for (double& value : x) value += step;
  return x;
}

class Gradient : public testing::TestWithParam<const ir::OpDef*> {};

TEST_P(Gradient, IsTheSlope) {
  // Points inside and outside of [-1, 1], the domain of some functions, and none where one bends.
  const std::vector<double> points{-2.3, -0.7, -0.3, 0.4, 0.8, 1.3, 2.6};
  constexpr double kStep = 1e-5;
  const Expr x = input("x", DType::f64, {-1});
  const Expr y = expr::apply(*GetParam(), {x});
  const Function f = Function::compile({x}, {y, grad(sum(y), x)}).value_or_throw();
  const std::vector<double> slope = call(f, points, 1);
  const std::vector<double> above = call(f, moved(points, kStep), 0);
  const std::vector<double> below = call(f, moved(points, -kStep), 0);
  int compared = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double expected = (above[i] - below[i]) / (2 * kStep);
    if (!std::isfinite(expected)) continue;  // outside of the domain
    ++compared;
    EXPECT_NEAR(slope[i], expected, 1e-6 * std::max(1.0, std::abs(expected))) << points[i];
  }
  EXPECT_GE(compared, 2);
}

INSTANTIATE_TEST_SUITE_P(Elementwise, Gradient, testing::ValuesIn(functions()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace scanloom::autodiff
