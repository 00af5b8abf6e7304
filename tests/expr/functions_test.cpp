// Functions of expressions that consist of several operators, and queries of graphs.
#include <scanloom/function.h>
#include <scanloom/grad.h>
#include <scanloom/graph.h>
#include <scanloom/scan.h>

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanloom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

template <class T>
std::vector<T> computed(const Expr& x) {
  const Function f = Function::compile({}, {x}).value_or_throw();
  const std::vector<Value> results = f({}).value_or_throw();
  const auto all = results[0].as<T>();
  return {all.begin(), all.end()};
}

TEST(Functions, SortsInAscendingOrder) {
  const Expr x = constant({3.0, 1.0, 2.0, 1.0});
  EXPECT_THAT(computed<double>(sort(x)), ElementsAre(1, 1, 2, 3));
  EXPECT_THAT(computed<std::int64_t>(argsort(x)), ElementsAre(1, 3, 2, 0));
  EXPECT_EQ(sort(x, 1).error()->code(), Code::invalid_argument);
}

TEST(Functions, NoneOfNoElementsHoldsAndAllDo) {
  const Expr none = input("none", DType::f64, {-1});
  const Function f = Function::compile({none}, {any(none), all(none)}).value_or_throw();
  const double elements[] = {0, 2};
  for (const std::int64_t size : {0, 1, 2}) {
    const auto results = f({view(elements, {size})}).value_or_throw();
    EXPECT_EQ(results[0].as<bool>()[0], size == 2);
    EXPECT_EQ(results[1].as<bool>()[0], size == 0);
  }
}

TEST(Functions, DividesIntegersTowardsMinusInfinity) {
  const Expr a = constant<std::int64_t>({7, -7, 7, -7}), b = constant<std::int64_t>({2, 2, -2, -2});
  EXPECT_THAT(computed<std::int64_t>(floor_divide(a, b)), ElementsAre(3, -4, -4, 3));
}

TEST(Functions, DivideFloatsByWayOfTheirRemainder) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Expr a = constant({1.0, -1.0, kInfinity, 5.0, 1e17}),
             b = constant({kInfinity, kInfinity, 2.0, 0.0, 3.0});
  EXPECT_THAT(computed<double>(floor_divide(a, b)),
              ElementsAre(0, -1, IsNan(), kInfinity, 33333333333333332));
  EXPECT_THAT(computed<double>(remainder(a, b)), ElementsAre(1, kInfinity, IsNan(), IsNan(), 1));
}

TEST(Functions, ChecksNumbersOfTheRun) {
  const Expr n = input("n", DType::i64);
  const Function f = Function::compile({n}, {checked_equal(n, 3, "{} rows, not {}", "a table") * 2})
                         .value_or_throw();
  const std::int64_t right = 3, wrong = 4;
  EXPECT_THAT(f({view(&right, {})}).value_or_throw()[0].as<std::int64_t>(), ElementsAre(6));
  EXPECT_THAT(f({view(&wrong, {})}).error().message(), HasSubstr("a table: 4 rows, not 3"));
}

TEST(Functions, RefusesMasksOfAnotherSize) {
  const Expr x = input("x", DType::f64, {3}), mask = constant({true, false});
  EXPECT_THAT(subtensor(x, {Index::of(mask)}).error()->message(),
              HasSubstr("a mask of 2 elements on axis 0 for an axis of 3 elements"));
}

TEST(Functions, CountsBooleansBesideUnsignedNumbers) {
  const Expr sum = constant<std::uint8_t>({1, 2}) + constant({true, false});
  EXPECT_EQ(sum.dtype(), DType::u8);
}

TEST(Functions, CopiesConstantsInTheirOrder) {
  const double values[] = {1, 2, 3, 4};
  const View columns{.dtype = DType::f64, .shape = {2, 2}, .data = values, .strides = {1, 2}};
  EXPECT_THAT(computed<double>(constant(columns)), ElementsAre(1, 3, 2, 4));
}

TEST(Functions, SlicesWithStepsThatAreComputed) {
  const Expr x = constant({1.0, 2.0, 3.0}), step = input("step", DType::i64);
  const Function f =
      Function::compile({step}, {subtensor(x, {Index::slice({}, {}, step)})}).value_or_throw();
  const std::int64_t back = -1, two = 2;
  EXPECT_THAT(f({view(&back, {})}).value_or_throw()[0].as<double>(), ElementsAre(3, 2, 1));
  EXPECT_THAT(f({view(&two, {})}).value_or_throw()[0].as<double>(), ElementsAre(1, 3));
}

TEST(Functions, CallWhatFailsByWhatWasWritten) {
  const Expr a = input("a", DType::f64, {-1, -1}), b = input("b", DType::f64, {-1});
  const Function f = Function::compile({a, b}, {solve(a, b)}).value_or_throw();
  const double matrix[] = {1, 1, 1, 1}, right[] = {1, 1, 1};
  const auto singular = f({view(matrix, {2, 2}), view(right, {2})});
  EXPECT_EQ(singular.error().code(), Code::invalid_argument);
  EXPECT_EQ(singular.error().text(),
            "solve of 'a' and 'b': the matrix is singular: its pivot 1 is 0");
  const auto too_many = f({view(matrix, {2, 2}), view(right, {3})});
  EXPECT_EQ(too_many.error().code(), Code::invalid_argument);
  EXPECT_THAT(too_many.error().text(), testing::StartsWith("solve of 'a' and 'b': "));
}

TEST(Functions, WithoutFormsInOnnxNameTheirNodesAndOperators) {
  const Expr a = input("a", DType::f64, {-1, -1});
  const Expr both = solve(a, tanh(a)) + cholesky(a);
  const auto model = Function::compile({a}, {both}).value_or_throw().to_onnx();
  EXPECT_EQ(model.error().code(), Code::unsupported);
  EXPECT_THAT(model.error().message(),
              testing::AllOf(testing::HasSubstr("no ONNX form"), testing::HasSubstr(": lu_factor"),
                             testing::HasSubstr("result of tanh: lu_solve"),
                             testing::HasSubstr("cholesky of 'a': cholesky"),
                             testing::Not(testing::HasSubstr(": tanh"))));
}

TEST(Functions, RefuseRowsThatExceedTheBudgetBeforeTheFirstStep) {
  const Expr steps = input("steps", DType::i64);
  ScanOptions options;
  options.initial = {{number(1, DType::f64)}};
  options.steps = steps;
  options.name = "walk";
  int taken = 0;
  RunOptions limits;
  limits.max_memory = 1'000'000;
  limits.progress = [&](const Progress&) { ++taken; };
  const Expr rows = scan(options, [](const StepInputs& in) { return in.state(0) + 1.0; });
  const Function f = Function::compile({steps}, {rows}).value_or_throw();
  const std::int64_t many = 1'000'000'000, few = 100'000;
  const auto refused = f.call({{view(&many, {})}}, limits, nullptr);
  EXPECT_EQ(refused.error().code(), Code::limit_reached);
  EXPECT_THAT(refused.error().text(),
              testing::MatchesRegex("scan 'walk': the rows of 1000000000 steps need 8000000000 "
                                    "bytes, but [0-9]+ bytes of the memory budget are left"));
  EXPECT_EQ(taken, 0);
  EXPECT_EQ(f.call({{view(&few, {})}}, limits, nullptr).value_or_throw()[0].shape()[0], few);
}

TEST(Functions, BranchesOnConditionsOfAnyType) {
  const Expr condition = input("condition", DType::i8);
  const Function f =
      Function::compile({condition}, {if_else(condition, constant({1.0}), constant({2.0}))})
          .value_or_throw();
  const std::int8_t yes = 1, no = 0;
  EXPECT_THAT(f({view(&yes, {})}).value_or_throw()[0].as<double>(), ElementsAre(1));
  EXPECT_THAT(f({view(&no, {})}).value_or_throw()[0].as<double>(), ElementsAre(2));
}

TEST(Functions, CutsGradients) {
  const Expr x = input("x", DType::f64, {-1});
  const Expr slopes = grad(sum(square(clip_gradient(x, -1, 1))), x);
  const Function f = Function::compile({x}, {slopes}).value_or_throw();
  const double at[] = {-3, 0.25, 5};
  EXPECT_THAT(f({view(at, {3})}).value_or_throw()[0].as<double>(), ElementsAre(-1, 0.5, 1));
}

TEST(Functions, ScalesGradientsAndRefusesThem) {
  const Expr x = input("x", DType::f64, {-1});
  const Expr slopes = grad(sum(square(scale_gradient(x, -2))), x);
  const Function f = Function::compile({x}, {slopes}).value_or_throw();
  const double at[] = {-3, 0.25};
  EXPECT_THAT(f({view(at, {2})}).value_or_throw()[0].as<double>(), ElementsAre(12, -1));
  const Expr none = grad(sum(without_gradient(x, "it counts")), x);
  ASSERT_NE(none.error(), nullptr);
  EXPECT_THAT(none.error()->text(), testing::HasSubstr("it counts"));
}

TEST(Functions, KeepAxesOfSharedVariablesThatBroadcast) {
  const double one[] = {1, 2}, other[] = {1, 2, 3, 4};
  Shared row("row", view(one, {1, 2}), {0});
  EXPECT_EQ(row.variable().sizes()[0], 1);
  EXPECT_FALSE(row.set(view(other, {2, 2})));
  EXPECT_TRUE(row.set(view(other, {1, 4})));
  EXPECT_NE(Shared("row", view(other, {2, 2}), {0}).variable().error(), nullptr);
  EXPECT_NE(Shared("row", view(other, {2, 2}), {2}).variable().error(), nullptr);
  const Expr n = input("n", DType::i64);
  const Expr rows = broadcast_to(row.variable(), shape_of({n, 4}));
  const Function f = Function::compile({n}, {}, {.updates = {{row, rows}}}).value_or_throw();
  const std::int64_t two = 2;
  const auto failed = f({view(&two, {})});
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().text(), testing::HasSubstr("size 1 on axis 0"));
}

TEST(Functions, WritesToTheLastRowOfALoop) {
  const Expr rows = scan({.initial = {constant({1.0, 1.0})}, .steps = 3},
                         [](const StepInputs& step) { return step.state(0) * 2; });
  const Expr written = set_subtensor(rows[-1], constant({0.0, 0.0}));
  EXPECT_THAT(computed<double>(written), ElementsAre(2, 2, 4, 4, 0, 0));
}

TEST(Functions, NamesLeaves) {
  const Expr x = input("x", DType::f64), y = input("y", DType::f64);
  const Shared w("w", 2.0);
  EXPECT_THAT(leaves({y * w.variable() + x * y}), ElementsAre(x, y, w.variable()));
  // A gradient, or a known size, no longer reads some of its inputs.
  const Expr slope = grad(sum(x * y), x);
  EXPECT_THAT(leaves({slope}), ElementsAre(y));
  EXPECT_THAT(origins({slope * 2.0}), ElementsAre(x, y));
  const Expr one = size(expand_dims(x, {0}), 0);
  EXPECT_THAT(origins({y * cast(one, DType::f64)}), ElementsAre(x, y));
}

TEST(Functions, FactorMatricesAndSolve) {
  const Expr a = reshape(constant({4.0, 2.0, 2.0, 10.0}), {2, 2}), b = constant({8.0, 22.0});
  EXPECT_THAT(computed<double>(solve(a, b)), ElementsAre(1, 2));
  EXPECT_THAT(computed<double>(solve(a, expand_dims(b, {1}))), ElementsAre(1, 2));
  EXPECT_THAT(computed<double>(solve(expand_dims(a, {0}), b)), ElementsAre(1, 2));
  EXPECT_THAT(computed<double>(lu_solve(lu_factor(a), b, true)), ElementsAre(1, 2));
  EXPECT_THAT(computed<double>(cholesky(a)), ElementsAre(2, 0, 1, 3));
  EXPECT_THAT(computed<double>(cholesky(a, false)), ElementsAre(2, 1, 0, 3));
  EXPECT_THAT(computed<double>(det(a)), ElementsAre(36));
  EXPECT_THAT(computed<double>(slogdet(-a).sign), ElementsAre(1));
  EXPECT_THAT(computed<double>(slogdet(a).log), ElementsAre(testing::DoubleEq(std::log(36.0))));
  EXPECT_THAT(computed<double>(triangular_solve(a, b)), ElementsAre(2, 1.8));
  EXPECT_THAT(computed<double>(triangular_solve(a, b, {.lower = false, .transposed = true})),
              ElementsAre(2, 1.8));
  EXPECT_THAT(computed<double>(lower_triangle(a, -1)), ElementsAre(0, 0, 2, 0));
  EXPECT_THAT(computed<double>(upper_triangle(a)), ElementsAre(4, 2, 0, 10));
}

TEST(Functions, FourierTransforms) {
  const Expr x = constant({1.0, 2.0, 3.0, 4.0});
  EXPECT_THAT(computed<double>(real(fft(x))), ElementsAre(10, -2, -2, -2));
  EXPECT_THAT(computed<double>(imag(fft(x))), ElementsAre(0, 2, 0, -2));
  EXPECT_THAT(computed<double>(real(ifft(fft(x)))), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(computed<double>(imag(rfft(x))), ElementsAre(0, 2, 0));
  EXPECT_THAT(computed<double>(irfft(rfft(x))), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(computed<double>(real(fft(x, {.length = 2}))), ElementsAre(3, -1));
  EXPECT_THAT(computed<double>(real(fft(x, {.norm = FourierNorm::forward}))),
              ElementsAre(2.5, -0.5, -0.5, -0.5));
  EXPECT_THAT(computed<double>(real(fft(x, {.norm = FourierNorm::ortho}))),
              ElementsAre(5, -1, -1, -1));
  EXPECT_THAT(computed<double>(real(fft(reshape(x, {2, 2}), {.axis = 0}))),
              ElementsAre(4, 6, -2, -2));
  EXPECT_EQ(fft(constant({1.0f})).dtype(), DType::c64);
  EXPECT_EQ(irfft(constant<std::int32_t>({1, 2})).dtype(), DType::f64);
}

TEST(Functions, FourierTransformsThatThereAreNot) {
  const Expr x = input("x", DType::f64, {4});
  EXPECT_EQ(fft(x, {.axis = 1}).error()->text(), "fft of 'x': axis 1 is outside its 1 axes");
  EXPECT_THAT(rfft(make_complex(x, x)).error()->text(), testing::HasSubstr("use fft"));
  EXPECT_THAT(fft(x, {.length = 0}).error()->text(),
              testing::HasSubstr("the length of the transform is 0, but at least 1 is needed"));
  EXPECT_THAT(fft(x, {.length = 1.5}).error()->text(), testing::HasSubstr("not one integer"));
}

TEST(Functions, FactorIntegersAndNarrowFloats) {
  const Expr a = reshape(constant<std::int32_t>({2, 0, 0, 4}), {2, 2});
  EXPECT_EQ(det(a).dtype(), DType::f64);
  EXPECT_THAT(computed<double>(inverse(a)), ElementsAre(0.5, 0, 0, 0.25));
  const Expr half = cast(a, DType::f16);
  EXPECT_EQ(cholesky(half).dtype(), DType::f16);
  EXPECT_THAT(computed<float>(cast(solve(half, constant({2.0f, 2.0f})), DType::f32)),
              ElementsAre(1, 0.5));
}

TEST(Functions, MatricesThatCannotBeFactored) {
  const Expr x = input("x", DType::f64, {-1, -1});
  EXPECT_EQ(inverse(input("x", DType::f64, {2, 3})).error()->text(),
            "lu_factor of 'x' f64[2,3]: x, whose matrices must be square, has sizes 2 and 3");
  EXPECT_EQ(cholesky(input("x", DType::f64, {2})).error()->code(), Code::invalid_argument);
  EXPECT_EQ(lower_triangle(constant({1.0})).error()->code(), Code::invalid_argument);
  EXPECT_EQ(solve(x, Expr(1.0)).error()->code(), Code::invalid_argument);
  const Function f = Function::compile({x}, {inverse(x)}).value_or_throw();
  const double zeros[6] = {};
  EXPECT_THAT(f({view(zeros, {2, 2})}).error().text(),
              testing::HasSubstr("the matrix is singular: its pivot 0 is 0"));
  EXPECT_THAT(f({view(zeros, {2, 3})}).error().text(), testing::HasSubstr("2 and 3"));
}

TEST(Functions, DescribesGraphs) {
  const Expr x = input("x", DType::f64, {-1});
  const ScanResult made = scan({.sequences = {x}, .name = "cell"},
                               [](const StepInputs& step) { return Step(exp(step[0])); });
  const Graph graph = graph_of({made.outputs[0]});
  const GraphNode& loop = graph.nodes[graph.outputs[0].node];
  EXPECT_EQ(loop.operation, "loop");
  EXPECT_EQ(loop.name, "cell");
  EXPECT_THAT(loop.ports, ElementsAre("steps", "scanned"));
  EXPECT_THAT(loop.types, ElementsAre("f64[?]"));
  ASSERT_EQ(loop.bodies.size(), 1u);
  EXPECT_EQ(loop.bodies[0].nodes[loop.bodies[0].outputs[0].node].operation, "exp");
}

}  // namespace
}  // namespace scanloom
