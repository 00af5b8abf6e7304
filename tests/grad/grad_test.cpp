// Gradients against central differences in f64.
#include <scanloom/function.h>
#include <scanloom/grad.h>
#include <scanloom/scan.h>

#include <cmath>
#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanloom {
namespace {

struct Variable {
  std::vector<std::int64_t> shape;
  double low = -1, high = 1;
};

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

/// A cost of some variables, at one point.
class Point {
 public:
  using Cost = std::function<Expr(const std::vector<Expr>&)>;

  Point(const std::vector<Variable>& variables, const Cost& cost, bool known_sizes) {
    std::mt19937 random(7);
    for (const Variable& variable : variables) {
      std::uniform_real_distribution<double> law(variable.low, variable.high);
      std::vector<double> values(static_cast<std::size_t>(elements_of(variable.shape)));
      for (double& value : values) value = law(random);
      values_.push_back(values);
      shapes_.push_back(variable.shape);
      std::vector<std::int64_t> sizes = variable.shape;
      // Only an axis of known size 1 is broadcast; an open size is not.
      for (std::int64_t& size : sizes)
        if (!known_sizes && size != 1) size = -1;
      inputs_.push_back(input("x" + std::to_string(inputs_.size()), DType::f64, sizes));
    }
    cost_ = cost(inputs_);
  }

  std::vector<double> run(const Function& f, std::size_t output = 0) const {
    std::vector<View> views;
    for (std::size_t i = 0; i < values_.size(); ++i)
      views.push_back(view(values_[i].data(), shapes_[i]));
    const std::vector<Value> results = f.call(views).value_or_throw();
    const auto all = results[output].as<double>();
    return {all.begin(), all.end()};
  }

  void check(double tolerance = 1e-6) {
    const Function cost = Function::compile(inputs_, {cost_}).value_or_throw();
    std::vector<Expr> all;
    for (const Expr& x : inputs_) all.push_back(grad(cost_, x));
    const Function gradient = Function::compile(inputs_, all).value_or_throw();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const std::vector<double> found = run(gradient, i);
      ASSERT_EQ(found.size(), values_[i].size()) << "variable " << i;
      for (std::size_t k = 0; k < found.size(); ++k) {
        const double at = values_[i][k], step = 1e-5;
        values_[i][k] = at + step;
        const double above = run(cost)[0];
        values_[i][k] = at - step;
        const double below = run(cost)[0];
        values_[i][k] = at;
        const double expected = (above - below) / (2 * step);
        EXPECT_NEAR(found[k], expected, tolerance * std::max(1.0, std::abs(expected)))
            << "variable " << i << ", element " << k;
      }
    }
  }

 private:
  std::vector<Expr> inputs_;
  std::vector<std::vector<double>> values_;
  std::vector<std::vector<std::int64_t>> shapes_;
  Expr cost_;
};

void check(const std::vector<Variable>& variables, const Point::Cost& cost,
           double tolerance = 1e-6) {
  for (const bool known_sizes : {true, false}) {
    SCOPED_TRACE(known_sizes ? "sizes known" : "sizes open");
    Point(variables, cost, known_sizes).check(tolerance);
  }
}

using Xs = const std::vector<Expr>&;

TEST(Grad, OfElements) {
  check({{{3}}, {{3}, 0.5, 2}}, [](Xs x) {
    return sum(x[0] * x[1] + x[0] / x[1] - exp(x[0]) * log(x[1]) + tanh(x[0]) * sigmoid(x[1]) +
               pow(x[1], x[0]) + sqrt(x[1]) + sin(x[0]) * cos(x[1]) + erf(x[0]) + softplus(x[0]) +
               maximum(x[0], x[1]) + where(x[0] > 0, x[0] * x[1], x[1]) + abs(x[0]));
  });
}

TEST(Grad, OfStableForms) {
  check({{{2, 3}}, {{2, 3}, -0.5, 2}}, [](Xs x) {
    const Expr powers = exp(x[0]);
    return sum(log(softmax(x[0])) * x[1] + log(sigmoid(x[1])) * x[0] + log(1 - sigmoid(x[0])) +
               log(1 + powers) * x[1] + log1p(exp(-x[1])) + log(powers + exp(x[1])) +
               powers / sum(powers, {1}, true) * x[1] + 1 / (1 + exp(-x[0])) * x[1] +
               powers / (powers + 1) + (powers - 1) * x[1] + log(1 + x[1]) + expm1(x[0] * x[1]) +
               log1p(x[1])) +
           sum(log(sum(powers, {0})) * log(mean(exp(x[1]), {0}))) +
           sum(log(transpose(softmax(x[0], 0))[1]));
  });
}

/// Returns the cost and its gradient at a vector.
std::vector<std::vector<double>> at(const std::function<Expr(const Expr&)>& cost,
                                    const std::vector<double>& values) {
  const Expr x = input("x", DType::f64, {-1});
  const Expr y = cost(x);
  const Function f = Function::compile({x}, {y, grad(y, x)}).value_or_throw();
  const std::vector<View> views{view(values.data(), {static_cast<std::int64_t>(values.size())})};
  const std::vector<Value> results = f.call(views).value_or_throw();
  std::vector<std::vector<double>> found;
  for (const Value& result : results) {
    const auto all = result.as<double>();
    found.emplace_back(all.begin(), all.end());
  }
  return found;
}

TEST(Grad, OfStableFormsWhereTheirPartsOverflow) {
  using testing::ElementsAre;
  const std::vector<double> far{1000, -1000};
  EXPECT_THAT(at([](const Expr& x) { return sum(log(softmax(x))); }, far),
              ElementsAre(ElementsAre(-2000), ElementsAre(-1, 1)));
  EXPECT_THAT(at([](const Expr& x) { return log(softmax(x)[1]); }, far),
              ElementsAre(ElementsAre(-2000), ElementsAre(-1, 1)));
  EXPECT_THAT(at([](const Expr& x) { return log(sum(exp(x))); }, far),
              ElementsAre(ElementsAre(1000), ElementsAre(1, 0)));
  EXPECT_THAT(at([](const Expr& x) { return sum(log(1 + exp(x))); }, far),
              ElementsAre(ElementsAre(1000), ElementsAre(1, 0)));
  EXPECT_THAT(at([](const Expr& x) { return sum(log(1 - 1 / (1 + exp(-x)))); }, far),
              ElementsAre(ElementsAre(-1000), ElementsAre(-1, 0)));
  EXPECT_THAT(at([](const Expr& x) { return sum(exp(x) / sum(exp(x)) * x); }, far),
              ElementsAre(ElementsAre(1000), ElementsAre(1, 0)));
}

TEST(Grad, WithRespectToWhatAStableFormPasses) {
  const Expr x = input("x", DType::f64, {2});
  const Expr p = softmax(x);
  const Expr slope = grad(sum(log(p)), p);
  const std::vector<double> values{0, 0};
  const std::vector<View> views{view(values.data(), {2})};
  const Function f = Function::compile({x}, {slope}).value_or_throw();
  const std::vector<Value> found = f.call(views).value_or_throw();
  const auto all = found[0].as<double>();
  EXPECT_THAT(std::vector(all.begin(), all.end()), testing::ElementsAre(2, 2));
}

TEST(Grad, OfBroadcasting) {
  check({{{2, 3}}, {{3}}, {{2, 1}}, {{}}},
        [](Xs x) { return sum((x[0] * x[1] + x[2]) * x[3] + x[1] * x[2]); });
}

TEST(Grad, OfReductions) {
  check({{{2, 3}, 0.5, 2}}, [](Xs x) {
    return sum(mean(x[0], {1}) * max(x[0], {1})) + sum(prod(x[0], {0})) +
           sum(min(x[0], {0}, true) * x[0]) + sum(softmax(x[0]) * x[0]) +
           sum(log_softmax(x[0], 0) * x[0]) + sum(cumsum(x[0], 1) * cumsum(x[0], 0));
  });
}

TEST(Grad, OfRunningProducts) {
  for (const int order : {1, 2, 3}) {
    SCOPED_TRACE(order);
    const auto nth = [&](Expr y, const Expr& x) {
      for (int i = 1; i < order; ++i) y = sum(grad(y, x) * cos(x));
      return y;
    };
    check({{{4}}}, [&](Xs x) { return nth(sin(prod(x[0])), x[0]); });
    check({{{4}}}, [&](Xs x) { return nth(sum(cumprod(x[0], 0) * x[0]), x[0]); });
    check({{{2, 3}}}, [&](Xs x) { return nth(sum(sin(cumprod(x[0], 1))), x[0]); });
  }
}

TEST(Grad, OfProducts) {
  check({{{2, 3}}, {{3, 2}}, {{3}}, {{2, 3, 2}}}, [](Xs x) {
    return sum(dot(x[0], x[1])) + sum(dot(x[0], x[2]) * dot(x[2], x[1])) + dot(x[2], x[2]) +
           sum(matmul(x[3], x[0])) + sum(outer(x[2], x[2]) * dot(x[1], x[0])) +
           sum(tensordot(x[3], x[1], {1}, {0}));
  });
}

/// Far from singular, whatever x is.
Expr sound(const Expr& x) { return x + lower_triangle(upper_triangle(3 + zeros_like(x))); }

TEST(Grad, OfSolutions) {
  check({{{3, 3}}, {{3}}, {{3, 2}}}, [](Xs x) {
    const LuFactors factors = lu_factor(sound(x[0]));
    return sum(square(solve(sound(x[0]), x[1]))) + sum(exp(lu_solve(factors, x[2]))) +
           sum(square(lu_solve(factors, x[1], true)));
  });
  check({{{2, 3, 3}}, {{3, 2}}, {{4, 1, 3, 1}}}, [](Xs x) {
    return sum(square(solve(sound(x[0]), x[1]))) + sum(exp(solve(sound(x[0]), x[2])));
  });
}

TEST(Grad, OfTriangularSolutions) {
  check({{{3, 3}}, {{3, 2}}, {{2, 3, 1}}}, [](Xs x) {
    Expr total = 0.0;
    for (const bool lower : {true, false})
      for (const bool transposed : {true, false})
        for (const bool unit : {true, false}) {
          const TriangularForm form{lower, transposed, unit};
          total = total + sum(square(triangular_solve(sound(x[0]), x[1], form))) +
                  sum(exp(triangular_solve(sound(x[0]), x[2], form)));
        }
    return total;
  });
}

TEST(Grad, OfFunctionsOfMatrices) {
  check({{{3, 3}}, {{2, 2, 2}}}, [](Xs x) {
    const Expr definite = matmul(x[0], transpose(x[0])) + sound(zeros_like(x[0]));
    return det(x[0]) + slogdet(x[0]).log * det(sound(x[0])) + sum(square(inverse(sound(x[0])))) +
           sum(exp(cholesky(definite))) + sum(sin(cholesky(sound(x[0]) * 2, false))) +
           sum(square(cholesky(sound(x[1])))) + sum(exp(inverse(sound(x[1])))) + sum(det(x[1]));
  });
}

TEST(Grad, OfGradientsOfMatrices) {
  check({{{3, 3}}, {{3}}}, [](Xs x) {
    const Expr cost = sum(exp(solve(sound(x[0]), x[1]))) + det(x[0]) + slogdet(x[0]).log +
                      sum(square(inverse(sound(x[0])))) + sum(exp(cholesky(sound(x[0])))) +
                      sum(square(triangular_solve(sound(x[0]), x[1])));
    return sum(square(grad(cost, x[0]))) + sum(sin(grad(cost, x[1])));
  });
}

/// A real number that depends on both parts of every element of z, in another way for each.
Expr mixed_parts(const Expr& z) {
  const Expr re = real(z), im = imag(z), weights = arange(1, size(z, z.rank() - 1) + 1);
  return sum(exp(re * 0.1) * weights) + sum(sin(im) * weights) + sum(re * im);
}

TEST(Grad, OfFourierTransforms) {
  check({{{2, 6}}, {{2, 5}}}, [](Xs x) {
    const Expr z = make_complex(x[1], sin(x[1] * 2));
    Expr total = 0.0;
    for (const FourierNorm norm : {FourierNorm::backward, FourierNorm::forward, FourierNorm::ortho})
      for (const Expr& length : {Expr(), Expr(4), Expr(7)}) {
        const FourierForm form{.length = length, .norm = norm};
        total = total + mixed_parts(fft(x[0], form)) + mixed_parts(fft(z, form)) +
                mixed_parts(ifft(x[0], form)) + mixed_parts(ifft(z, form)) +
                mixed_parts(rfft(x[0], form)) + mixed_parts(rfft(x[1], form)) +
                sum(exp(irfft(z, form) * 0.1)) + sum(sin(irfft(x[0], form)));
      }
    return total + mixed_parts(fft(z, {.axis = 0}));
  });
}

TEST(Grad, OfGradientsOfFourierTransforms) {
  check({{{6}}}, [](Xs x) {
    const Expr cost = mixed_parts(rfft(x[0])) + sum(exp(irfft(make_complex(x[0], x[0] * 2)) * 0.1));
    return sum(square(grad(cost, x[0])));
  });
}

TEST(Grad, OfShapes) {
  check({{{2, 3}}}, [](Xs x) {
    const Expr flat = flatten(x[0]);
    return sum(reshape(x[0], {3, 2}) * transpose(x[0])) + sum(concatenate({flat, flat * 2}) * 3) +
           sum(stack({x[0], x[0] * x[0]}, 1)) + sum(dimshuffle(x[0], {1, -1, 0}) * x[0][0][1]);
  });
}

TEST(Grad, OfParts) {
  check({{{5, 4}}, {{2}}}, [](Xs x) {
    const Expr rows = subtensor(x[0], {Index::slice(1, -1)});
    const Expr back = subtensor(x[0], {Index::slice({}, {}, -1), Index::slice(3, 0, -2)});
    const Expr picked = subtensor(x[0], {Index::of(constant<std::int64_t>({0, 2, 2}))});
    const Expr pairs = subtensor(x[0], {Index::of(constant<std::int64_t>({0, 4})),
                                        Index::of(constant<std::int64_t>({1, -1}))});
    const Expr set =
        set_subtensor(subtensor(x[0], {Index::slice(0, 2), Index::of(1)}), x[1] * x[1]);
    const Expr more = increment_subtensor(x[0][2], x[0][3]);
    return sum(rows * rows) + sum(back * back) + sum(picked * picked) + sum(pairs * x[1]) +
           sum(set * set) + sum(more * more) + x[0][-1][-1];
  });
}

TEST(Grad, OfBranches) {
  check({{{3}, 0.1, 1}}, [](Xs x) {
    return if_else(sum(x[0]) > 0, sum(x[0] * x[0]), sum(log(x[0] - 5))) +
           if_else(sum(x[0]) < 0, sum(log(x[0] - 5)), sum(exp(x[0])));
  });
}

/// The gradient of `cost` by `x` where the inputs are these numbers.
double slope(const std::vector<Expr>& inputs, const Expr& cost, const Expr& x,
             const std::vector<double>& at, const GradOptions& options = {}) {
  const Expr g = gradients(cost, {x}, options)[0];
  const Function f = Function::compile(inputs, {g}).value_or_throw();
  std::vector<View> views;
  for (const double& value : at) views.push_back(view(&value, {}));
  return f.call(views).value_or_throw()[0].as<double>()[0];
}

TEST(Grad, OfWhatABranchComputes) {
  const Expr x = input("x", DType::f64, {}), y = input("y", DType::f64, {});
  const Expr inner = sin(x), deeper = inner * inner;
  const Expr cost = if_else(x > 0, if_else(y > 0, exp(deeper) + x, y * inner), x * y);
  const double s = std::sin(0.5), c = std::cos(0.5);
  EXPECT_NEAR(slope({x, y}, cost, inner, {0.5, 1}), 2 * s * std::exp(s * s), 1e-12);
  EXPECT_NEAR(slope({x, y}, cost, deeper, {0.5, 1}), std::exp(s * s), 1e-12);
  EXPECT_NEAR(slope({x, y}, cost, x, {0.5, 1}), 2 * s * c * std::exp(s * s) + 1, 1e-12);
  EXPECT_NEAR(slope({x, y}, cost, x, {0.5, -1}), -c, 1e-12);
  EXPECT_EQ(slope({x, y}, cost, inner, {-0.5, -1}), 0);
  EXPECT_EQ(slope({x, y}, cost, x, {-0.5, -1}), -1);
  EXPECT_NEAR(slope({x, y}, cost, x, {0.5, 1}, {.constants = {deeper}}), 1, 1e-12);
}

TEST(Grad, OfABranchOfManyResults) {
  check({{{4}, 0.1, 1}, {{4}}}, [](Xs x) {
    const Expr root = sqrt(x[0]), bad = log(x[0] - 3);
    const std::vector<Expr> both =
        if_else(sum(x[0]) > 0, {root * x[1], sum(root)}, {bad, sum(bad * x[1])});
    return sum(both[0] * both[0]) * both[1];
  });
}

TEST(Grad, OfBranchesInALoop) {
  check({{{7}}, {{3}}, {{}}}, [](Xs x) {
    const Expr h = scan({.sequences = {x[0]}, .initial = {x[1]}}, [&](const StepInputs& s) {
      const Expr a = tanh(s.state(0) * x[2]), b = exp(s[0]) * a;
      return if_else(s[0] > 0, if_else(s[0] > 0.5, b * b, a + b), log(s[0] + 2) * s.state(0));
    });
    return sum(h[-1] * h[-1]) + sum(h);
  });
}

TEST(Grad, OfASideThatOnlyItsBranchMayCompute) {
  const Expr x = input("x", DType::f64, {-1}), i = input("i", DType::i64, {});
  const Expr picked = x[i];
  const Expr cost = if_else(i < size(x, 0), picked * picked, sum(x));
  const Function f = Function::compile({x, i}, {cost, gradients(cost, {x})[0]}).value_or_throw();
  const std::vector<double> values{1, 2, 3};
  for (const std::int64_t at : {std::int64_t{1}, std::int64_t{9}}) {
    const auto results = f({view(values.data(), {3}), view(&at, {})}).value_or_throw();
    EXPECT_EQ(results[0].as<double>()[0], at == 1 ? 4 : 6);
    const auto slopes = results[1].as<double>();
    EXPECT_THAT(std::vector(slopes.begin(), slopes.end()),
                at == 1 ? testing::ElementsAre(0, 4, 0) : testing::ElementsAre(1, 1, 1));
  }
}

TEST(Grad, OfPartsAsLongAsTheStepSays) {
  check({{{6}}, {{6}}}, [](Xs x) {
    const Expr rows = scan({.sequences = {arange(0, 6), x[0]}}, [&](const StepInputs& s) {
      const Expr part = tanh(subtensor(x[1], {Index::slice({}, s[0])}) * s[1]);
      const Expr inner = scan({.sequences = {part}, .initial = {s[1]}},
                              [](const StepInputs& t) { return exp(t[0] * t.state(0)); });
      return sum(part * part) + sum(inner) + sum(if_else(s[0] > 2, exp(part), part * 2));
    });
    return sum(rows * rows);
  });
}

/// The chunks leave no remaining steps, so nothing computes how long parts of a state are.
TEST(Grad, OfGradientsOfPartsInChunks) {
  check({{{3}}, {{}, 1.2, 1.8}}, [](Xs x) {
    std::vector<Expr> costs;
    for (const std::int64_t every : {1, 2, 4, 5}) {
      const ScanOptions options{.initial = {{x[0]}, {Expr()}, {Expr()}},
                                .steps = 4,
                                .checkpoint = {Checkpoint::Kind::every, every}};
      const Expr count = cast(x[1], DType::i64);
      const ScanResult made = scan_steps(options, [&](const StepInputs& s) {
        const Expr h = sin(s.state(0) * x[0]);
        return Step{h, subtensor(h, {Index::slice({}, 2)}),
                    subtensor(h, {Index::slice(count, {})})};
      });
      const Expr cost = sum(square(made.outputs[1])) + sum(exp(made.outputs[2]));
      costs.push_back(sum(square(grad(cost, x[0]))));
    }
    return costs[0] + costs[1] + costs[2] + costs[3];
  });
}

TEST(Grad, OfGradientsOfLoopsThatEndEarly) {
  check({{{3}, 0.3, 1.1}}, [](Xs x) {
    const Expr y = scan({.sequences = {x[0]}}, [](const StepInputs& s) {
      const Expr& e = s[0];
      const ScanResult inner =
          scan_steps({.initial = {number(1.5, DType::f64)}, .steps = 5}, [&](const StepInputs& t) {
            return Step(tanh(t.state(0) * e)).until(t.state(0) * e > 0.9);
          });
      return sum(square(inner.outputs[0]));
    });
    return sum(square(grad(sum(square(y)), x[0])));
  });
}

TEST(Grad, OfALoop) {
  check({{{6}}, {{6}}, {{}}}, [](Xs x) {
    const Expr h = scan({.sequences = {x[0], x[1]}, .initial = {x[2]}},
                        [](const StepInputs& s) { return s[0] * s.state(0) + s[1]; });
    return sum(h * h) + h[-1];
  });
}

TEST(Grad, OfARecurrentLayer) {
  check({{{5, 3}}, {{4}}, {{3, 4}}, {{4, 4}}, {{4}}}, [](Xs x) {
    const Expr h = scan({.sequences = {x[0]}, .initial = {x[1]}}, [&](const StepInputs& s) {
      return tanh(dot(s[0], x[2]) + dot(s.state(0), x[3]) + x[4]);
    });
    return sum(h[-1] * h[-1]) + sum(h);
  });
}

TEST(Grad, OfTaps) {
  check({{{9}}, {{3}}}, [](Xs x) {
    const ScanOptions options{.sequences = {{x[0], {{-2, 0, 1}}}}, .initial = {{x[1], {{-3, -1}}}}};
    const Expr y = scan(options, [](const StepInputs& s) {
      return tanh(s.sequence(0, -2) + s.sequence(0, 0) * s.sequence(0, 1) + s.state(0, -3) * 0.5 +
                  s.state(0, -1));
    });
    return sum(y * y);
  });
}

TEST(Grad, OfALoopThatStops) {
  check({{{9}, 0.5, 1}, {{}}}, [](Xs x) {
    const ScanResult y = scan({.sequences = {x[0]}, .initial = {x[1]}}, [](const StepInputs& s) {
      const Expr next = s.state(0) + s[0] * s[0];
      return Step(next).until(next > 2);
    });
    return sum(y.outputs[0] * y.outputs[0]) + y.outputs[0][-1];
  });
}

TEST(Grad, OfALoopBackwards) {
  check({{{7}}, {{4}}}, [](Xs x) {
    const ScanOptions options{
        .sequences = {x[0], x[1]}, .initial = {number(0.5, DType::f64)}, .backwards = true};
    const Expr y = scan(options, [](const StepInputs& s) { return sin(s.state(0) * s[0] + s[1]); });
    return sum(y * y);
  });
}

TEST(Grad, OfALoopInALoop) {
  check({{{3, 4}}, {{2}}, {{2, 2}}}, [](Xs x) {
    const Expr y = scan({.sequences = {x[0]}, .initial = {x[1]}}, [&](const StepInputs& outer) {
      const Expr inner =
          scan({.sequences = {outer[0]}, .initial = {outer.state(0)}},
               [&](const StepInputs& s) { return tanh(dot(s.state(0), x[2]) + s[0]); });
      return inner[-1] + sum(inner, {0}) * 0.1;
    });
    return sum(y * y);
  });
}

TEST(Grad, OfAGradient) {
  check(
      {{{4}}, {{}, 0.5, 1}},
      [](Xs x) {
        const Expr y = scan({.sequences = {x[0]}, .initial = {x[1]}}, [](const StepInputs& s) {
          return s.state(0) * s.state(0) * s[0] + sin(s[0]);
        });
        const Expr first = grad(sum(y * y), x[0]);
        const Expr second = grad(sum(first * first), x[1]);
        return second + sum(first);
      },
      1e-5);
}

TEST(Grad, OfHighOrder) {
  // x^16 by four squarings in a loop: the n-th derivative is 16! / (16 - n)! x^(16 - n).
  const Expr x = input("x", DType::f64);
  Expr y = scan({.initial = {x}, .steps = 4},
                [](const StepInputs& s) { return s.state(0) * s.state(0); })[-1];
  std::vector<Expr> all;
  for (int n = 0; n < 4; ++n) {
    y = grad(y, x);
    all.push_back(y);
  }
  const Function f = Function::compile({x}, all).value_or_throw();
  const double at = 1.1;
  const std::vector<Value> results = f({view(&at, {})}).value_or_throw();
  double factor = 1;
  for (int n = 1; n <= 4; ++n) {
    factor *= 17 - n;
    EXPECT_NEAR(results[static_cast<std::size_t>(n - 1)].as<double>()[0],
                factor * std::pow(at, 16 - n), 1e-9 * factor * std::pow(at, 16 - n))
        << n;
  }
}

TEST(Grad, Truncated) {
  const Expr x = input("x", DType::f64, {-1}), h = input("h", DType::f64);
  const Expr y = scan({.sequences = {x}, .initial = {h}, .truncate_gradient = 2},
                      [](const StepInputs& s) { return s.state(0) * 0.5 + s[0]; });
  const Function f = Function::compile({x, h}, {grad(sum(y), x), grad(sum(y), h)}).value_or_throw();
  const std::vector<double> xs{1, 2, 3, 4};
  const double h0 = 1;
  const std::vector<Value> found = f({view(xs.data(), {4}), view(&h0, {})}).value_or_throw();
  const auto by_x = found[0].as<double>();
  EXPECT_THAT(std::vector<double>(by_x.begin(), by_x.end()), testing::ElementsAre(0, 0, 1.5, 1));
  EXPECT_EQ(found[1].as<double>()[0], 0);
}

TEST(Grad, OfALoopInChunks) {
  for (const Checkpoint& checkpoint :
       {Checkpoint::every(4), Checkpoint::every(100), Checkpoint::root()})
    for (const bool backwards : {false, true}) {
      check({{{11, 2}}, {{2}}, {{2, 2}}}, [&](Xs x) {
        const ScanOptions options{.sequences = {x[0]},
                                  .initial = {x[1]},
                                  .backwards = backwards,
                                  .checkpoint = checkpoint};
        const Expr h =
            scan(options, [&](const StepInputs& s) { return tanh(dot(s.state(0), x[2]) + s[0]); });
        return sum(h[-1] * h[-1]) + sum(h * 0.1);
      });
    }
}

TEST(Grad, WithinABudget) {
  // 3 levels of 22 chunks, and what the loops carry: 96 states of 16 bytes.
  const Expr x = input("x", DType::f64, {2});
  const auto chain = [&](const Checkpoint& checkpoint) {
    const Expr h = scan({.initial = {x}, .steps = 10'000, .checkpoint = checkpoint},
                        [](const StepInputs& s) { return sin(s.state(0)) * 1.001 + 0.01; });
    return grad(sum(h[-1]), x);
  };
  const Function f =
      Function::compile({x}, {chain(Checkpoint::budget(1600)), chain(Checkpoint::all())})
          .value_or_throw();
  const std::vector<double> xs{0.3, -0.7};
  const std::vector<Value> found = f({view(xs.data(), {2})}).value_or_throw();
  const auto kept = found[0].as<double>(), all = found[1].as<double>();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(kept[i], all[i]);
  const Expr small = chain(Checkpoint::budget(64));
  ASSERT_NE(small.error(), nullptr);
  EXPECT_THAT(small.error()->text(),
              testing::HasSubstr("the budget holds 4 states, but the gradient of 10000 steps keeps "
                                 "at least 80"));
}

TEST(Grad, OfManyStepsInLittleMemory) {
  // 100 MB of states; the run fails where it takes more than it may.
  const Expr x = input("x", DType::f64, {128});
  const Expr h =
      scan({.initial = {x}, .steps = 100'000, .checkpoint = Checkpoint::budget(100 * 1024)},
           [](const StepInputs& s) { return sin(s.state(0)) * 1.001 + 0.01; });
  const Function f = Function::compile({x}, {grad(sum(h[-1]), x)}).value_or_throw();
  const std::vector<double> xs(128, 0.3);
  RunReport report;
  const RunOptions options{.max_memory = 100 * 1024};
  const std::vector<View> values{view(xs.data(), {128})};
  f.call(values, options, &report).value_or_throw();
  // Once forwards, once back, and each but the innermost of five levels once more.
  EXPECT_GT(report.steps, 6 * 100'000);
  EXPECT_LT(report.steps, 7 * 100'000);
}

TEST(Grad, AtZeros) {
  const Expr x = input("x", DType::f64, {-1}), k = constant<double>({0, 1, 2});
  const Function f = Function::compile({x}, {grad(sum(pow(x, k)), x)}).value_or_throw();
  const std::vector<double> zeros{0, 0, 0};
  const auto found = f({view(zeros.data(), {3})}).value_or_throw();
  const auto all = found[0].as<double>();
  EXPECT_THAT(std::vector<double>(all.begin(), all.end()), testing::ElementsAre(0, 1, 0));
}

TEST(Grad, OfRunningProductsWithZeros) {
  const Expr x = input("x", DType::f64, {-1});
  const Function f = Function::compile({x}, {grad(sum(cumprod(x, 0)), x)}).value_or_throw();
  const std::vector<double> factors{2, 0, 3, 0};
  const auto found = f({view(factors.data(), {4})}).value_or_throw();
  const auto all = found[0].as<double>();
  EXPECT_THAT(std::vector<double>(all.begin(), all.end()), testing::ElementsAre(1, 8, 0, 0));
}

TEST(Grad, OfNoStepsIsAsWideAsTheSequence) {
  const Expr x = input("x", DType::f64, {-1, -1}), n = input("n", DType::i64);
  const Expr rows = scan({.sequences = {x}, .steps = n}, [](const StepInputs& step) {
    return subtensor(step[0], {Index::slice(argmax(step[0], 0))});
  });
  const Function f = Function::compile({x, n}, {grad(sum(rows), x)}).value_or_throw();
  const std::vector<double> values{1, 2, 0, 3, 4, 0};
  const std::int64_t none = 0;
  const auto found = f({view(values.data(), {2, 3}), view(&none, {})}).value_or_throw();
  EXPECT_THAT(found[0].shape(), testing::ElementsAre(2, 3));
}

TEST(Grad, OfUpdatesOfALoopThatStops) {
  const Shared s("s", 1.0);
  const Expr a = input("a", DType::f64);
  const ScanResult made = scan({.captured = {a}, .steps = 10}, [&](const StepInputs& step) {
    const Expr next = s.variable() * step.captured(0);
    return Step(std::vector<Expr>{}).update(s, next).until(next > 100);
  });
  const Function f =
      Function::compile({a}, {grad(made.updates[s], a)}, {.no_default_updates = true})
          .value_or_throw();
  const double five = 5;  // 5, 25, 125: three steps
  EXPECT_EQ(f({view(&five, {})}).value_or_throw()[0].as<double>()[0], 75);
}

TEST(Grad, OfDrawsIsOfTheSameDraws) {
  RandomStreams streams(3);
  const Expr x = input("x", DType::f64, {3});
  const Expr y = x * streams.normal(constant<std::int64_t>({3}));
  const Function f = Function::compile({x}, {y, jacobian(y, x)}).value_or_throw();
  const std::vector<double> ones{1, 1, 1};
  const auto found = f({view(ones.data(), {3})}).value_or_throw();
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(found[1].as<double>()[4 * i], found[0].as<double>()[i]);
}

TEST(Grad, PushesForward) {
  const Expr x = input("x", DType::f64, {-1}), v = input("v", DType::f64, {-1});
  const Expr y = scan({.sequences = {x}, .initial = {number(1, DType::f64)}},
                      [](const StepInputs& s) { return s.state(0) * s[0]; });
  const Function f = Function::compile({x, v}, push_forward({y}, {x}, {v})).value_or_throw();
  const std::vector<double> xs{2, 3, 5}, vs{1, 0, 10};
  const auto pushed = f({view(xs.data(), {3}), view(vs.data(), {3})}).value_or_throw();
  const auto found = pushed[0].as<double>();
  EXPECT_THAT(std::vector<double>(found.begin(), found.end()), testing::ElementsAre(1, 3, 75));
}

TEST(Grad, Hessian) {
  const Expr x = input("x", DType::f64, {-1});
  const Function f = Function::compile({x}, {hessian(sum(x * x * x), x)}).value_or_throw();
  const std::vector<double> xs{1, 2};
  const auto result = f({view(xs.data(), {2})}).value_or_throw();
  const auto found = result[0].as<double>();
  EXPECT_THAT(std::vector<double>(found.begin(), found.end()), testing::ElementsAre(6, 0, 0, 12));
}

}  // namespace
}  // namespace scanloom
