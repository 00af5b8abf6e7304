// The examples of Theano's document that scan_test.cpp lacks, in its order, each with its expected
// values.
#include <scanloom/function.h>
#include <scanloom/grad.h>
#include <scanloom/scan.h>

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expr/calls.h"

namespace scanloom {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

using Doubles = std::vector<double>;

std::vector<std::int64_t> sizes_of(const Value& value) {
  const auto sizes = value.shape();
  return {sizes.begin(), sizes.end()};
}

/// A vector, or a matrix of that many columns.
View view_of(const Doubles& x, std::int64_t columns = 0) {
  const auto count = static_cast<std::int64_t>(x.size());
  if (columns == 0) return view(x.data(), {count});
  return view(x.data(), {count / columns, columns});
}

Doubles normal_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> law;
  Doubles values(count);
  for (double& value : values) value = law(random);
  return values;
}

/// x times a matrix of as many rows as x has elements.
Doubles times(const Doubles& x, const Doubles& matrix) {
  const std::size_t columns = matrix.size() / x.size();
  Doubles y(columns);
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t k = 0; k < columns; ++k) y[k] += x[i] * matrix[i * columns + k];
  return y;
}

/// A matrix of that many columns times x.
Doubles turned_times(const Doubles& matrix, const Doubles& x) {
  Doubles y(matrix.size() / x.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    for (std::size_t k = 0; k < x.size(); ++k) y[i] += matrix[i * x.size() + k] * x[k];
  return y;
}

std::string message_of(const Expr& made) {
  const auto result = Function::compile({}, {made});
  return result ? "" : std::string(result.error().message());
}

TEST(Document, Polynomial) {
  const Expr coefficients = input("coefficients", DType::f64, {-1}), x = input("x", DType::f64);
  const Expr components =
      scan({.sequences = {coefficients, arange(0, 10000)}, .captured = {x}},
           [](const StepInputs& step) { return step[0] * pow(step.captured(0), step[1]); });
  const Function polynomial = compiled({coefficients, x}, {sum(components), components});
  const Doubles given{1, 0, 2};
  const double three = 3;
  const auto found = polynomial({view_of(given), view(&three, {})}).value_or_throw();
  EXPECT_EQ(found[0].as<double>()[0], 19);
  EXPECT_THAT(elements(found[1]), ElementsAre(1, 0, 18));
}

TEST(Document, TriangularNumbers) {
  const Expr up_to = input("up_to", DType::i32);
  const Expr sums = scan({.sequences = {arange(0, up_to)}, .initial = {number(0, DType::i64)}},
                         [](const StepInputs& step) { return step.state(0) + step[0]; });
  const std::int32_t count = 15;
  const auto found = compiled({up_to}, {sums})({view(&count, {})}).value_or_throw();
  EXPECT_THAT(elements<std::int64_t>(found[0]),
              ElementsAre(0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 66, 78, 91, 105));
}

TEST(Document, AnInitialValueThatIsTooNarrow) {
  const Expr sums = scan({.sequences = {arange(0, 5)}, .initial = {number(0, DType::i8)}},
                         [](const StepInputs& step) { return step.state(0) + step[0]; });
  ASSERT_NE(sums.error(), nullptr);
  EXPECT_EQ(sums.error()->code(), Code::invalid_argument);
  EXPECT_THAT(message_of(sums), testing::AllOf(HasSubstr("begins as i8"), HasSubstr("i64")));
}

TEST(Document, ValuesAtPositions) {
  const Expr locations = input("location", DType::i32, {-1, -1}),
             values = input("values", DType::f64, {-1}),
             model = input("output_model", DType::f64, {-1, -1});
  const Expr made =
      scan({.sequences = {locations, values}, .captured = {model}}, [](const StepInputs& step) {
        const Expr zeros = zeros_like(step.captured(0));
        const Expr part = subtensor(zeros, {Index::of(step[0][0]), Index::of(step[0][1])});
        return set_subtensor(part, step[1]);
      });
  const std::vector<std::int32_t> places{1, 1, 2, 3};
  const Doubles wanted{42, 50}, shape(25);
  const auto found = compiled({locations, values, model}, {made})(
                         {view(places.data(), {2, 2}), view_of(wanted), view_of(shape, 5)})
                         .value_or_throw();
  Doubles expected(50);
  expected[5 + 1] = 42;
  expected[25 + 10 + 3] = 50;
  EXPECT_THAT(sizes_of(found[0]), ElementsAre(2, 5, 5));
  EXPECT_THAT(elements(found[0]), ElementsAreArray(expected));
}

/// A restricted Boltzmann machine: 6 visible units, 4 hidden ones.
struct Machine {
  Doubles weights = normal_numbers(24, 1), visible = normal_numbers(6, 2),
          hidden = normal_numbers(4, 3);
  Shared w{"W", view_of(weights, 4)}, bvis{"bvis", view_of(visible)}, bhid{"bhid", view_of(hidden)};
};

/// Ten steps of sampling; rows of the units, then the draws that decided on them.
ScanResult gibbs_chain(const Machine& rbm, const Expr& sample, RandomStreams& streams, bool passed,
                       bool strict) {
  ScanOptions options{.initial = {sample, {}, {}}, .steps = 10, .strict = strict, .name = "gibbs"};
  if (passed) options.captured = {rbm.w, rbm.bvis, rbm.bhid};
  return scan(options, [&](const StepInputs& step) {
    const Expr w = rbm.w, bvis = rbm.bvis, bhid = rbm.bhid;
    const Expr v = step.state(0);
    const Expr hmean = sigmoid(dot(v, w) + bhid);
    const Expr by_hidden = streams.uniform(shape(hmean));
    const Expr h = cast(by_hidden < hmean, DType::f64);
    const Expr vmean = sigmoid(dot(h, transpose(w)) + bvis);
    const Expr by_visible = streams.uniform(shape(v));
    return Step{cast(by_visible < vmean, DType::f64), by_hidden, by_visible};
  });
}

/// Computes in plain C++ the units that the random samples select.
Doubles sampled(const Machine& rbm, Doubles v, const Doubles& by_hidden,
                const Doubles& by_visible) {
  const auto chosen = [](Doubles mean, const Doubles& bias, const double* draws) {
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] = draws[i] < 1 / (1 + std::exp(-(mean[i] + bias[i]))) ? 1 : 0;
    return mean;
  };
  Doubles rows;
  for (std::size_t t = 0; t < 10; ++t) {
    const Doubles h = chosen(times(v, rbm.weights), rbm.hidden, &by_hidden[4 * t]);
    v = chosen(turned_times(rbm.weights, h), rbm.visible, &by_visible[6 * t]);
    rows.insert(rows.end(), v.begin(), v.end());
  }
  return rows;
}

TEST(Document, GibbsSampling) {
  const Doubles start(6, 1);
  std::vector<Doubles> first_calls;
  for (const bool passed : {false, true}) {
    SCOPED_TRACE(passed ? "parameters passed" : "parameters found");
    const Machine rbm;
    RandomStreams streams(1234);
    const Expr sample = input("sample", DType::f64, {-1});
    const ScanResult chain = gibbs_chain(rbm, sample, streams, passed, passed);
    EXPECT_EQ(chain.updates.entries().size(), 2u);
    const Function f = compiled({sample}, chain.outputs, {.updates = chain.updates});
    const auto first = f({view_of(start)}).value_or_throw();
    const auto second = f({view_of(start)}).value_or_throw();
    for (const auto& call : {first, second})
      EXPECT_EQ(elements(call[0]), sampled(rbm, start, elements(call[1]), elements(call[2])));
    EXPECT_NE(elements(first[1]), elements(second[1]));
    first_calls.push_back(elements(first[0]));
  }
  EXPECT_EQ(first_calls[0], first_calls[1]);
}

TEST(Document, DrawsRepeatWithoutTheUpdates) {
  const Machine rbm;
  RandomStreams streams(1234);
  const Expr sample = input("sample", DType::f64, {-1});
  const ScanResult chain = gibbs_chain(rbm, sample, streams, true, false);
  const Function f = compiled({sample}, {chain.outputs[1]});
  const Doubles start(6, 1);
  EXPECT_EQ(elements(f({view_of(start)}).value_or_throw()[0]),
            elements(f({view_of(start)}).value_or_throw()[0]));
}

TEST(Document, StrictRefusesSharedVariablesThatAreNotPassed) {
  const Machine rbm;
  RandomStreams streams(1234);
  const ScanResult chain =
      gibbs_chain(rbm, input("sample", DType::f64, {-1}), streams, false, true);
  ASSERT_NE(chain.outputs[0].error(), nullptr);
  EXPECT_EQ(chain.outputs[0].error()->code(), Code::invalid_argument);
  EXPECT_THAT(message_of(chain.outputs[0]),
              testing::AllOf(HasSubstr("scan 'gibbs'"), HasSubstr("strict")));
}

TEST(Document, WithoutUpdatesASharedVariableStays) {
  const Shared a("a", std::int64_t{1});
  const ScanResult made = scan({.steps = 10}, [&](const StepInputs&) {
    return Step(std::vector<Expr>{}).update(a, a.variable() + 1);
  });
  const Function f = compiled({}, {a.variable() + 1, made.updates[a] + 1});
  for (int call = 0; call < 2; ++call) {
    const auto found = f({}).value_or_throw();
    EXPECT_EQ(found[0].as<std::int64_t>()[0], 2);
    EXPECT_EQ(found[1].as<std::int64_t>()[0], 12);
    EXPECT_EQ(a.value().as<std::int64_t>()[0], 1);
  }
}

/// The document's network: 2 inputs, 3 units, 2 outputs.
struct Network {
  Doubles u = normal_numbers(18, 1), x0 = normal_numbers(9, 2), y0 = normal_numbers(2, 3);
  Doubles w = normal_numbers(9, 4), in_1 = normal_numbers(6, 5), in_2 = normal_numbers(6, 6),
          feedback = normal_numbers(6, 7), out = normal_numbers(6, 8);

  [[nodiscard]] std::vector<Doubles> expected() const {
    const auto row = [](const Doubles& all, std::size_t at, std::size_t size) {
      return Doubles(all.begin() + static_cast<std::ptrdiff_t>(at * size),
                     all.begin() + static_cast<std::ptrdiff_t>((at + 1) * size));
    };
    Doubles xs = x0, ys = y0;
    for (std::size_t t = 4; t < 9; ++t) {
      const std::size_t rows = xs.size() / 3;
      const Doubles parts[] = {times(row(xs, rows - 1, 3), w), times(row(u, t, 2), in_1),
                               times(row(u, t - 4, 2), in_2),
                               times(row(ys, ys.size() / 2 - 1, 2), feedback)};
      const Doubles y = times(row(xs, rows - 3, 3), out);
      for (std::size_t i = 0; i < 3; ++i)
        xs.push_back(std::tanh(parts[0][i] + parts[1][i] + parts[2][i] + parts[3][i]));
      ys.insert(ys.end(), y.begin(), y.end());
    }
    return {Doubles(xs.begin() + 9, xs.end()), Doubles(ys.begin() + 2, ys.end())};
  }
};

TEST(Document, RecurrentNetworkWithTwoOutputsAndTaps) {
  const auto matrix = [](const char* name) { return input(name, DType::f64, {-1, -1}); };
  const Expr u = matrix("u"), x0 = matrix("x0"), y0 = input("y0", DType::f64, {-1});
  const std::vector<Expr> weights{matrix("W"), matrix("W_in_1"), matrix("W_in_2"),
                                  matrix("W_feedback"), matrix("W_out")};
  const ScanOptions options{.sequences = {{u, {{-4, 0}}}},
                            .initial = {{x0, {{-3, -1}}}, y0},
                            .captured = weights,
                            .strict = true};
  const ScanResult made = scan(options, [](const StepInputs& step) {
    const Expr x =
        tanh(dot(step.state(0, -1), step.captured(0)) + dot(step.sequence(0, 0), step.captured(1)) +
             dot(step.sequence(0, -4), step.captured(2)) + dot(step.state(1), step.captured(3)));
    return Step{x, dot(step.state(0, -3), step.captured(4))};
  });
  std::vector<Expr> inputs{u, x0, y0};
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  const Network net;
  const auto found =
      compiled(inputs, made.outputs)({view_of(net.u, 2), view_of(net.x0, 3), view_of(net.y0),
                                      view_of(net.w, 3), view_of(net.in_1, 3), view_of(net.in_2, 3),
                                      view_of(net.feedback, 3), view_of(net.out, 2)})
          .value_or_throw();
  const std::vector<Doubles> expected = net.expected();
  EXPECT_THAT(elements(found[0]), testing::Pointwise(testing::DoubleNear(1e-13), expected[0]));
  EXPECT_THAT(elements(found[1]), testing::Pointwise(testing::DoubleNear(1e-13), expected[1]));
}

TEST(Document, TheGradientOfACheckpointedLoop) {
  const Expr a = input("A", DType::f64, {-1}), k = input("k", DType::i32);
  const ScanOptions options{
      .initial = {ones_like(a)}, .captured = {a}, .steps = k, .checkpoint = Checkpoint::every(4)};
  const Expr power =
      scan(options, [](const StepInputs& step) { return step.state(0) * step.captured(0); })[-1];
  const Function f = compiled({a, k}, {power, grad(sum(power), a)});
  const Doubles base{0, 1, 2, 3};
  const std::int32_t ten = 10;
  const auto found = f({view_of(base), view(&ten, {})}).value_or_throw();
  EXPECT_THAT(elements(found[0]), ElementsAre(0, 1, 1024, 59049));
  EXPECT_THAT(elements(found[1]), ElementsAre(0, 10, 5120, 196830));
}

TEST(Document, MapAndReductionsFromBothEnds) {
  const Expr xs = input("xs", DType::f64, {-1}), zero = number(0, DType::f64);
  const Expr squares =
      scan({.sequences = {xs}}, [](const StepInputs& step) { return step[0] * step[0]; });
  const auto digits = [&](bool backwards) {
    return scan({.sequences = {xs}, .initial = {zero}, .backwards = backwards},
                [](const StepInputs& step) { return step.state(0) * 10 + step[0]; })[-1];
  };
  const Expr total = scan({.sequences = {xs}, .initial = {zero}},
                          [](const StepInputs& step) { return step.state(0) + step[0]; })[-1];
  const Function f = compiled({xs}, {squares, total, digits(false), digits(true)});
  const Doubles given{1, 2, 3};
  const auto found = f({view_of(given)}).value_or_throw();
  EXPECT_THAT(elements(found[0]), ElementsAre(1, 4, 9));
  EXPECT_THAT(elements(found[1]), ElementsAre(6));
  EXPECT_THAT(elements(found[2]), ElementsAre(123));
  EXPECT_THAT(elements(found[3]), ElementsAre(321));
  const auto none = f({view(given.data(), {0})}).value_or_throw();
  EXPECT_THAT(sizes_of(none[0]), ElementsAre(0));
  EXPECT_THAT(elements(none[1]), ElementsAre(0));
}

TEST(Document, OrderOfWhatAStepReads) {
  std::vector<Expr> sequences, firsts, arguments;
  for (const char* name : {"s1", "s2", "s3"}) sequences.push_back(input(name, DType::f64, {-1}));
  firsts = {input("o1", DType::f64, {-1}), input("o3", DType::f64)};
  arguments = {input("a1", DType::f64), input("a2", DType::f64)};
  const ScanOptions options{
      .sequences = {{sequences[0], {{-3, 2, -1}}}, sequences[1], {sequences[2], {{3}}}},
      .initial = {{firsts[0], {{-3, -5}}}, {}, firsts[1]},
      .captured = arguments};
  const ScanResult made = scan(options, [](const StepInputs& step) {
    std::vector<Expr> all;  // identified by their positions
    for (const Expr& x : step.all()) all.push_back(reshape(x, std::vector<Expr>{1}));
    return Step{step.all()[5] + step.all()[0], concatenate(all), step.all()[7] + 1};
  });
  std::vector<Expr> inputs = sequences;
  inputs.insert(inputs.end(), firsts.begin(), firsts.end());
  inputs.insert(inputs.end(), arguments.begin(), arguments.end());
  const Doubles one{0, 1, 2, 3, 4, 5, 6}, two{20, 21, 22}, three{40, 41, 42, 43, 44, 45},
      begun{5, 4, 3, 2, 1};
  const double o3 = 100, a1 = 8, a2 = 9;
  const auto found =
      compiled(inputs, made.outputs)({view_of(one), view_of(two), view_of(three), view_of(begun),
                                      view(&o3, {}), view(&a1, {}), view(&a2, {})})
          .value_or_throw();
  EXPECT_THAT(sizes_of(found[1]), ElementsAre(2, 10));
  EXPECT_THAT(elements(found[1]), ElementsAre(0, 5, 2, 20, 43, 3, 5, 100, 8, 9,  //
                                              1, 6, 3, 21, 44, 2, 4, 101, 8, 9));
}

TEST(Document, WhatStepsReadOfTheOutsideIsFound) {
  const Expr w = input("W", DType::f64, {-1, -1}), xs = input("xs", DType::f64, {-1, -1});
  const Expr w_2 = pow(w, 2);
  const Expr rows =
      scan({.sequences = {xs}}, [&](const StepInputs& step) { return dot(step[0], w_2); });
  const Doubles values{1, 1, 0, 1}, weights{0, 1, 2, 3, 4, 5};
  const auto found =
      compiled({xs, w}, {rows})({view_of(values, 2), view_of(weights, 3)}).value_or_throw();
  EXPECT_THAT(elements(found[0]), ElementsAre(9, 17, 29, 9, 16, 25));
}

TEST(Document, OutputsUpdatesAndACondition) {
  const Shared x("x", std::int64_t{0});
  const ScanResult made =
      scan({.initial = {number(0, DType::f64)}, .steps = 50}, [&](const StepInputs& step) {
        return Step(step.state(0) + 1).update(x, x.variable() + 1).until(x.variable() >= 3);
      });
  const Function f = compiled({}, made.outputs, {.updates = made.updates});
  EXPECT_THAT(elements(f({}).value_or_throw()[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(x.value().as<std::int64_t>()[0], 4);
}

TEST(Document, NoStepsAndStepsBackwards) {
  const Expr xs = input("xs", DType::f64, {-1}), n = input("n", DType::i64);
  const Expr taken =
      scan({.sequences = {xs}, .steps = n}, [](const StepInputs& step) { return step[0]; });
  const Expr turned = scan({.sequences = {xs}, .steps = n, .backwards = true},
                           [](const StepInputs& step) { return step[0]; });
  const Function f = compiled({xs, n}, {taken, turned});
  const Doubles given{0, 1, 2, 3, 4};
  const auto call = [&](std::int64_t steps) { return f({view_of(given), view(&steps, {})}); };
  EXPECT_THAT(elements(call(0).value_or_throw()[0]), ElementsAre());
  EXPECT_THAT(elements(call(2).value_or_throw()[0]), ElementsAre(0, 1));
  EXPECT_THAT(elements(call(2).value_or_throw()[1]), ElementsAre(4, 3));
  EXPECT_THAT(elements(call(-3).value_or_throw()[0]), ElementsAre(4, 3, 2));
  EXPECT_THAT(elements(call(-3).value_or_throw()[1]), ElementsAre(0, 1, 2));
  const auto too_many = call(6);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().code(), Code::invalid_argument);
}

TEST(Document, SomeInitialValuesAloneAreRefused) {
  const ScanResult made =
      scan({.initial = {number(1, DType::f64)}, .steps = 3},
           [](const StepInputs& step) { return Step{step.state(0), step.state(0) + 1}; });
  EXPECT_THAT(message_of(made.outputs[0]), HasSubstr("2 outputs"));
}

TEST(Document, SumsOfUpdatesAreChecked) {
  const Shared a("a", std::int64_t{1});
  const auto counted = [&](int by) {
    return scan({.steps = 10}, [&](const StepInputs&) {
      return Step(std::vector<Expr>{}).update(a, a.variable() + by);
    });
  };
  const ScanResult first = counted(1), second = counted(2);
  Updates both = first.updates;
  EXPECT_TRUE(both.merge(first.updates));
  EXPECT_EQ(both.entries().size(), 1u);
  const auto merged = both.merge(second.updates);
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace scanloom
