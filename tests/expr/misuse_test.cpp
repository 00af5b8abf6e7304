// Missing and mismatched operands give an error that the result holds, at every entry point of the
// library.
#include <scanloom/function.h>
#include <scanloom/grad.h>
#include <scanloom/scan.h>

#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanloom {
namespace {

using testing::HasSubstr;

struct Misuse {
  const char* name;
  std::function<Expr(const Expr& x)> make;
};

std::string error_of(const Expr& x) {
  if (!x.defined()) return "undefined";
  return x.error() == nullptr ? "" : std::string(x.error()->message());
}

class Misuses : public testing::TestWithParam<Misuse> {};

TEST_P(Misuses, AreErrorsThatTheResultHolds) {
  const Expr made = GetParam().make(input("x", DType::f64, {-1}));
  ASSERT_TRUE(made.defined());
  ASSERT_NE(made.error(), nullptr);
  EXPECT_EQ(made.error()->code(), Code::invalid_argument);
  const Expr x = input("x", DType::f64, {-1});
  const auto compiled = Function::compile({x}, {made});
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().message(), made.error()->message());
}

using E = const Expr&;

INSTANTIATE_TEST_SUITE_P(
    OfWhatIsMissing, Misuses,
    testing::Values(
        Misuse{"grad_of", [](E x) { return grad(Expr(), x); }},
        Misuse{"grad_by", [](E x) { return grad(sum(x), Expr()); }},
        Misuse{"gradients_of", [](E x) { return gradients(Expr(), {x})[0]; }},
        Misuse{"gradients_by", [](E x) { return gradients(sum(x), {Expr()})[0]; }},
        Misuse{"jacobian_of", [](E x) { return jacobian(Expr(), x); }},
        Misuse{"jacobian_by", [](E x) { return jacobian(x * x, Expr()); }},
        Misuse{"hessian_of", [](E x) { return hessian(Expr(), x); }},
        Misuse{"hessian_by", [](E x) { return hessian(sum(x), Expr()); }},
        Misuse{"cotangent", [](E x) { return pull_back({sum(x)}, {Expr()}, {x})[0]; }},
        Misuse{"constant",
               [](E x) { return pull_back({x}, {x}, {x}, {.constants = {Expr()}})[0]; }},
        Misuse{"known", [](E x) { return pull_back({}, {}, {x}, {.known = {{Expr(), x}}})[0]; }},
        Misuse{"known_gradient",
               [](E x) { return pull_back({}, {}, {x}, {.known = {{x, Expr()}}})[0]; }},
        Misuse{"tangent", [](E x) { return push_forward({x * x}, {x}, {Expr()})[0]; }},
        Misuse{"sum", [](E x) { return x + Expr(); }},
        Misuse{"index", [](E x) { return x[Expr()]; }},
        Misuse{"indexed", [](E) { return Expr()[0]; }},
        Misuse{"subtensor", [](E) { return subtensor(Expr(), {Index::all()}); }},
        Misuse{"part", [](E x) { return set_subtensor(Expr(), x); }},
        Misuse{"written", [](E x) { return increment_subtensor(x[0], Expr()); }},
        Misuse{"reduced", [](E) { return sum(Expr()); }},
        Misuse{"shape", [](E) { return shape(Expr()); }},
        Misuse{"size", [](E) { return size(Expr(), 0); }},
        Misuse{"zeros_like", [](E) { return zeros_like(Expr()); }},
        Misuse{"ones_like", [](E) { return ones_like(Expr()); }},
        Misuse{"reshape", [](E x) { return reshape(x, Expr()); }},
        Misuse{"reshaped", [](E x) { return reshape(x, {Expr()}); }},
        Misuse{"dimshuffle", [](E) { return dimshuffle(Expr(), {0}); }},
        Misuse{"cast", [](E) { return cast(Expr(), DType::f32); }},
        Misuse{"where", [](E x) { return where(Expr(), x, x); }},
        Misuse{"condition", [](E x) { return if_else(Expr(), x, x); }},
        Misuse{"side", [](E x) { return if_else(x[0] > 0, x, Expr()); }},
        Misuse{"dot", [](E x) { return dot(x, Expr()); }},
        Misuse{"softmax", [](E) { return softmax(Expr()); }},
        Misuse{"stack", [](E) { return stack({Expr()}); }},
        Misuse{"concatenate", [](E) { return concatenate({}); }},
        Misuse{"arange", [](E) { return arange(0, Expr()); }},
        Misuse{"solve", [](E x) { return solve(Expr(), x); }},
        Misuse{"disconnected", [](E) { return disconnected(Expr()); }},
        Misuse{"replaced", [](E x) { return substitute({x}, {{Expr(), x}})[0]; }},
        Misuse{"replacement", [](E x) { return substitute({x * 2}, {{x, Expr()}})[0]; }},
        Misuse{"draw", [](E) { return RandomStreams(1).uniform(Expr()); }},
        Misuse{"sequence",
               [](E) {
                 return scan({.sequences = {Expr()}},
                             [](const StepInputs& step) { return step[0]; });
               }},
        Misuse{"captured",
               [](E x) {
                 return scan({.sequences = {x}, .captured = {Expr()}},
                             [](const StepInputs& step) { return step[0]; });
               }},
        Misuse{"output",
               [](E x) {
                 return scan({.sequences = {x}}, [](const StepInputs&) { return Expr(); });
               }}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    OfWhatFitsNowhere, Misuses,
    testing::Values(
        Misuse{"negative_size", [](E) { return input("q", DType::f64, {-7}); }},
        Misuse{"another_dtype",
               [](E x) { return substitute({x * 2}, {{x, input("i", DType::i8, {-1})}})[0]; }},
        Misuse{"another_rank",
               [](E x) { return substitute({x * 2}, {{x, input("m", DType::f64, {-1, -1})}})[0]; }},
        Misuse{"another_size",
               [](E) {
                 const Expr three = input("three", DType::f64, {3});
                 return substitute({three * 2}, {{three, input("six", DType::f64, {6})}})[0];
               }},
        Misuse{"slice_of_two_taps",
               [](E x) {
                 return scan({.sequences = {{x, {{-1, 0}}}}},
                             [](const StepInputs& step) { return step[0] * 1; });
               }},
        Misuse{"no_such_sequence",
               [](E x) {
                 return scan({.sequences = {x}},
                             [](const StepInputs& step) { return step[1] * 1; });
               }}),
    [](const auto& info) { return info.param.name; });

TEST(MisuseTest, TheErrorSaysWhichTapsThereAre) {
  const Expr x = input("x", DType::f64, {-1});
  const Expr y = scan({.sequences = {{x, {{-1, 0}}}}},
                      [](const StepInputs& step) { return step[0] * step.sequence(0, 0); });
  EXPECT_THAT(error_of(y), HasSubstr("sequence 0 has 2 taps"));
}

TEST(MisuseTest, AnOutputWithRowsBeforeHasTaps) {
  const Expr x = input("x", DType::f64, {-1});
  const Expr y = scan({.sequences = {x}, .initial = {Initial(x, Taps{})}},
                      [](const StepInputs& step) { return step[0] * 2; });
  EXPECT_THAT(error_of(y), HasSubstr("output 0 has no taps"));
}

TEST(MisuseTest, NothingCanBeNamed) {
  Expr nothing;
  EXPECT_EQ(nothing.named("a").name(), "");
}

/// Handles of what is no shared variable: of an input, of nothing, of a failed one.
std::vector<Shared> no_variables() {
  const double values[] = {1, 2, 3};
  return {Shared(input("x", DType::f64, {-1})), Shared(Expr()),
          Shared("s", view(values, {3}), {5})};
}

TEST(MisuseTest, WhatIsNoSharedVariableHasNoValue) {
  const double values[] = {1, 2, 3};
  for (Shared& variable : std::vector(no_variables())) {
    EXPECT_EQ(variable.value().data(), nullptr);
    EXPECT_FALSE(variable.set(view(values, {3})));
    variable.set_default_update(number(1, DType::f64));
    const Expr next = variable.default_update();
    EXPECT_TRUE(!next.defined() || next.error() != nullptr);
    const auto made = Function::compile({}, {}, {.updates = {{variable, number(1, DType::f32)}}});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), Code::invalid_argument);
  }
}

TEST(MisuseTest, DefaultUpdatesKeepTheType) {
  const double values[] = {1, 2, 300};
  Shared s("s", view(values, {3}));
  for (const Expr& next :
       {cast(s, DType::i8), sum(s), Expr(s) + Expr(input("q", DType::i8, {2, 3}))}) {
    s.set_default_update(next);
    const auto made = Function::compile({}, {s + 0});
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message(), HasSubstr("the update of 's'"));
  }
  s.set_default_update(s + 1);
  EXPECT_TRUE(Function::compile({}, {s + 0}));
}

TEST(MisuseTest, UpdatesOfALoopThatIsWrongHoldItsError) {
  Shared a("a", 1.0);
  const ScanResult made = scan({.steps = 3}, [&](const StepInputs&) {
    return Step(std::vector<Expr>{}).update(a, cast(a, DType::i8));
  });
  ASSERT_NE(made.updates.error(), nullptr);
  EXPECT_THAT(error_of(made.updates[a]), HasSubstr("the update of 'a'"));
  const auto compiled = Function::compile({}, {}, {.updates = made.updates});
  ASSERT_FALSE(compiled);
  EXPECT_THAT(compiled.error().message(), HasSubstr("the update of 'a'"));
  Updates both;
  EXPECT_FALSE(both.merge(made.updates));
  EXPECT_NE(both.error(), nullptr);
}

TEST(MisuseTest, SizesThatOnlyARunKnowsAreChecked) {
  const Expr three = input("three", DType::f64, {3}), x = input("x", DType::f64, {-1});
  // The size is a number in the graph already.
  const Expr mean_of = sum(three) / cast(size(three, 0), DType::f64);
  const Function f = Function::compile({x}, {mean_of}, {.givens = {{three, x}}}).value_or_throw();
  const std::vector<double> ones(6, 1.0);
  EXPECT_EQ(f({view(ones.data(), {3})}).value_or_throw()[0].as<double>()[0], 1.0);
  const auto wrong = f({view(ones.data(), {6})});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("'three' has size 6 on axis 0, not 3"));
}

TEST(MisuseTest, NumbersOfStepsThatCannotBeCounted) {
  const auto steps = [](const Expr& n) {
    return scan({.initial = {number(0, DType::f64)}, .steps = n},
                [](const StepInputs& step) { return step.state(0) + 1; });
  };
  const std::uint64_t many = ~std::uint64_t{2};
  EXPECT_THAT(error_of(steps(constant(view(&many, {})))), HasSubstr("18446744073709551613"));
  const Expr x = input("x", DType::f64, {-1});
  const auto far = [&](std::int64_t tap) {
    return scan({.sequences = {{x, {{tap, 0}}}}},
                [](const StepInputs& step) { return step.sequence(0, 0); });
  };
  EXPECT_EQ(far(std::numeric_limits<std::int64_t>::min()).error()->code(), Code::unsupported);
  EXPECT_EQ(far(std::numeric_limits<std::int64_t>::max()).error()->code(), Code::unsupported);
}

}  // namespace
}  // namespace scanloom
