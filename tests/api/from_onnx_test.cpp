// Models as expressions: a function written as a model is read back, computed and differentiated.
#include <scanloom/from_onnx.h>
#include <scanloom/function.h>
#include <scanloom/grad.h>
#include <scanloom/scan.h>

#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanloom {
namespace {

Expected<ModelExpressions> read(const std::string& model) {
  return from_onnx_bytes(std::as_bytes(std::span(model)));
}

std::vector<double> computed(const Function& function, const std::vector<double>& xs) {
  const auto results =
      function({view(xs.data(), {static_cast<std::int64_t>(xs.size())})}).value_or_throw();
  const auto all = results[0].as<double>();
  return {all.begin(), all.end()};
}

/// The product of 1 + x * x, which a loop multiplies as long as it is small.
Expr product(const Expr& x) {
  const ScanOptions options{.sequences = {x}, .initial = {number(1, DType::f64)}, .name = "chain"};
  const ScanResult made = scan(options, [](const StepInputs& step) {
    const Expr next = step.state(0) * (1.0 + square(step[0]));
    return Step(next).until(next > 100.0);
  });
  return made.outputs[0][-1];
}

TEST(FromOnnx, ComputesAndDifferentiatesLoops) {
  const Expr x = input("x", DType::f64, {-1});
  const Expr cost = product(x);
  const std::string model =
      Function::compile({x}, {cost}).value_or_throw().to_onnx().value_or_throw();
  const ModelExpressions read_back = read(model).value_or_throw();
  ASSERT_EQ(read_back.inputs.size(), 1u);
  EXPECT_EQ(read_back.inputs[0].name(), "x");
  EXPECT_EQ(read_back.output_names, std::vector<std::string>{"output_0"});
  const auto compiled = [](const Expr& of, const Expr& y) {
    return Function::compile({of}, {y}).value_or_throw();
  };
  const Expr again = read_back.outputs[0];
  for (const std::vector<double>& xs : {std::vector{1.0, 2.0, 3.0}, {1.0, 20.0, 3.0}, {0.5}}) {
    EXPECT_EQ(computed(compiled(read_back.inputs[0], again), xs), computed(compiled(x, cost), xs));
    EXPECT_THAT(
        computed(compiled(read_back.inputs[0], grad(again, read_back.inputs[0])), xs),
        testing::Pointwise(testing::DoubleNear(1e-9), computed(compiled(x, grad(cost, x)), xs)));
  }
}

TEST(FromOnnx, TakesOtherExpressionsForInputs) {
  const Expr x = input("x", DType::f64, {-1});
  const std::string model =
      Function::compile({x}, {x * x}).value_or_throw().to_onnx().value_or_throw();
  const ModelExpressions squared = read(model).value_or_throw();
  const Expr y = substitute(squared.outputs, {{squared.inputs[0], x + 1.0}})[0];
  EXPECT_EQ(computed(Function::compile({x}, {y}).value_or_throw(), {1, 2}),
            (std::vector{4.0, 9.0}));
}

TEST(FromOnnx, SaysWhatIsWrong) {
  EXPECT_EQ(from_onnx("/no such model.onnx").error().code(), Code::not_found);
  EXPECT_EQ(read("no model").error().code(), Code::invalid_model);
}

}  // namespace
}  // namespace scanloom
