// The examples of Theano's document, in C++.
#include <scanloom/function.h>
#include <scanloom/scan.h>

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expr/calls.h"

namespace scanloom {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

TEST(Scan, PowersByAccumulating) {
  const Expr k = input("k", DType::i32), a = input("A", DType::f64, {-1});
  const ScanOptions options{.initial = {ones_like(a)}, .captured = {a}, .steps = k};
  const Expr result =
      scan(options, [](const StepInputs& step) { return step.state(0) * step.captured(0); });
  const Function power = compiled({a, k}, {result[-1]});
  const std::vector<double> base{0, 1, 2, 3};
  const std::int32_t two = 2, zero = 0;
  const auto squares = power({view(base.data(), {4}), view(&two, {})}).value_or_throw();
  EXPECT_THAT(elements<double>(squares[0]), ElementsAre(0, 1, 4, 9));
  const auto none = power({view(base.data(), {4}), view(&zero, {})}).value_or_throw();
  EXPECT_THAT(elements<double>(none[0]), ElementsAre(1, 1, 1, 1));
}

TEST(Scan, UpdatesOfSharedVariables) {
  const Shared a("a", std::int64_t{1});
  const ScanResult made = scan({.steps = 10}, [&](const StepInputs&) {
    return Step(std::vector<Expr>{}).update(a, a.variable() + 1);
  });
  const Function f =
      compiled({}, {a.variable() + 1, made.updates[a] + 1}, {.updates = made.updates});
  const auto first = f({}).value_or_throw();
  EXPECT_EQ(first[0].as<std::int64_t>()[0], 2);
  EXPECT_EQ(first[1].as<std::int64_t>()[0], 12);
  EXPECT_EQ(a.value().as<std::int64_t>()[0], 11);
  const auto second = f({}).value_or_throw();
  EXPECT_EQ(second[0].as<std::int64_t>()[0], 12);
  EXPECT_EQ(second[1].as<std::int64_t>()[0], 22);
}

TEST(Scan, StopsAfterTheStepThatSaysSo) {
  const Expr limit = input("limit", DType::f32);
  const ScanResult made =
      scan({.initial = {number(1, DType::f32)}, .captured = {limit}, .steps = 1024},
           [](const StepInputs& step) {
             const Expr next = step.state(0) * 2;
             return Step(next).until(next > step.captured(0));
           });
  const Function f = compiled({limit}, made.outputs);
  const float value = 45;
  EXPECT_THAT(elements<float>(f({view(&value, {})}).value_or_throw()[0]),
              ElementsAre(2, 4, 8, 16, 32, 64));
}

TEST(Scan, TapsOfSequencesAndOutputs) {
  const Expr u = input("u", DType::f64, {-1}), x0 = input("x0", DType::f64, {-1});
  const ScanOptions options{.sequences = {{u, {{-4, 0}}}}, .initial = {{x0, {{-3, -1}}}}};
  const Expr x = scan(options, [](const StepInputs& step) {
    return step.sequence(0, -4) + 10 * step.sequence(0, 0) + 0.5 * step.state(0, -3) +
           step.state(0, -1);
  });
  const Function f = compiled({u, x0}, {x});
  std::vector<double> us{0, 1, 2, 3, 4, 5, 6, 7, 8}, xs{1, 2, 3}, expected = xs;
  for (std::size_t t = 4; t < us.size(); ++t)
    expected.push_back(us[t - 4] + 10 * us[t] + 0.5 * expected[expected.size() - 3] +
                       expected.back());
  expected.erase(expected.begin(), expected.begin() + 3);
  const auto result = f({view(us.data(), {9}), view(xs.data(), {3})}).value_or_throw();
  EXPECT_THAT(elements<double>(result[0]), ElementsAreArray(expected));
}

TEST(Scan, DrawsAnewInEveryStepAndCall) {
  RandomStreams streams(1234);
  const ScanResult made = scan({.steps = 3}, [&](const StepInputs&) {
    return Step{streams.uniform(constant<std::int64_t>({2}))};
  });
  const Function f = compiled({}, made.outputs, {.updates = made.updates});
  const std::vector<double> first = elements<double>(f({}).value_or_throw()[0]);
  const std::vector<double> second = elements<double>(f({}).value_or_throw()[0]);
  ASSERT_EQ(first.size(), 6u);
  EXPECT_NE(first[0], first[2]);
  EXPECT_NE(first, second);
}

TEST(Scan, DrawsAnewInLoopsInALoop) {
  RandomStreams streams(1234);
  const ScanResult made = scan({.steps = 3}, [&](const StepInputs&) {
    const ScanResult inner =
        scan({.steps = 2}, [&](const StepInputs&) { return Step{streams.uniform(shape_of({}))}; });
    return Step(inner.outputs);
  });
  const Function f = compiled({}, made.outputs, {.updates = made.updates});
  std::set<double> all;
  for (int call = 0; call < 2; ++call)
    for (const double draw : elements<double>(f({}).value_or_throw()[0])) all.insert(draw);
  EXPECT_EQ(all.size(), 12u);
}

TEST(Scan, NumbersTakeTheTypeThatStepsMakeOfThem) {
  const auto type_of = [](const Expr& x, const Expr& first, DType real) {
    return scan({.sequences = {x}, .initial = {first}, .real = real},
                [](const StepInputs& step) { return step.state(0) * 2 + step[0]; })
        .dtype();
  };
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64})
    for (const Expr& first : {Expr(0), Expr(0.5)})
      EXPECT_EQ(type_of(input("x", dtype, {-1}), first, DType::f64), dtype);
  for (const DType dtype : {DType::i8, DType::u16, DType::i64})
    EXPECT_EQ(type_of(input("x", dtype, {-1}), Expr(0), DType::f64), DType::i64);
  // Another type is one that was written.
  EXPECT_EQ(type_of(input("x", DType::i8, {-1}), number(0, DType::i8), DType::f64), DType::i8);
  for (const DType real : {DType::f32, DType::f64}) {
    const Expr alone = scan({.initial = {Expr(1)}, .steps = 2, .real = real},
                            [](const StepInputs& step) { return step.state(0) / 2; });
    EXPECT_EQ(alone.dtype(), real);
  }
}

TEST(Scan, CountersDoNotWrapAround) {
  int calls = 0;
  const Expr counted = scan({.initial = {Expr(0)}, .steps = 300}, [&](const StepInputs& step) {
    ++calls;
    return step.state(0) + 1;
  });
  EXPECT_EQ(calls, 1);
  const auto results = compiled({}, {counted[-1]})({}).value_or_throw();
  EXPECT_THAT(elements<std::int64_t>(results[0]), ElementsAre(300));
}

TEST(Scan, NumbersThatATypeDoesNotHoldAreErrors) {
  const Expr x = input("x", DType::f64, {-1});
  const auto made = [&](const Expr& first, DType dtype) {
    return scan({.sequences = {x}, .initial = {first}},
                [&](const StepInputs& step) { return cast(step[0] + step.state(0), dtype); });
  };
  EXPECT_EQ(made(Expr(1.0), DType::i8).dtype(), DType::i8);
  for (const auto& [first, dtype] : {std::pair(Expr(300), DType::i8),
                                     {Expr(0.5), DType::i64},
                                     {Expr(-1), DType::u64},
                                     {Expr(2), DType::boolean}}) {
    const Expr bad = made(first, dtype);
    ASSERT_NE(bad.error(), nullptr);
    EXPECT_THAT(bad.error()->text(), testing::HasSubstr("output 0 begins with"));
  }
}

TEST(Scan, MissingValuesAreErrors) {
  const Expr x = input("x", DType::f64, {-1}), nothing;
  for (const Expr& made :
       {exp(nothing), nothing + x, nothing + nothing, sum(nothing), where(nothing, x, x),
        x[nothing], reshape(x, nothing), concatenate({x, nothing}), dot(x, nothing),
        contract(x, x, "i,i"), sum_to(x, constant<std::int64_t>({1, 2})),
        scan({.sequences = {nothing}}, [](const StepInputs& step) { return step[0]; }),
        scan({.sequences = {x}}, [](const StepInputs&) { return Expr(); }),
        scan({.sequences = {x}}, [](const StepInputs& step) { return step[3] + 1; })})
    EXPECT_NE(made.error(), nullptr);
}

TEST(Scan, ViewsThatCannotBeAreErrors) {
  const double one = 1;
  const std::vector<View> views{view(&one, std::vector<std::int64_t>(20, 1)), view(&one, {-1}),
                                view(&one, {std::int64_t{1} << 50}),
                                view(static_cast<const double*>(nullptr), {3}),
                                View{DType::f64, {1}, &one, {1, 1}}};
  for (const View& each : views) {
    EXPECT_NE(constant(each).error(), nullptr);
    EXPECT_NE(Shared("s", each).variable().error(), nullptr);
    EXPECT_FALSE(Shared("s", one).set(each));
  }
}

TEST(Scan, CallsOfAnotherRankAreErrors) {
  const Expr x = input("x", DType::f64, {-1});
  const Function f = compiled({x}, {sum(x)});
  const std::vector<double> values(6, 1.0);
  EXPECT_EQ(f({view(values.data(), {6})}).value_or_throw()[0].as<double>()[0], 6);
  const auto wrong = f({view(values.data(), {2, 3})});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().text(), testing::HasSubstr("has 1 axes, the value 2"));
}

TEST(Scan, FreesLongChains) {
#ifdef SCANLOOM_SANITIZED  // frames are longer, and building a link takes fifty times as long
  constexpr int kLinks = 20'000;
#else
  constexpr int kLinks = 50'000;
#endif
  Expr x = input("x", DType::f64, {3});
  for (int i = 0; i < kLinks; ++i) x = set_subtensor(x[0], 1.0);
  Expr y = input("y", DType::f64);
  for (int i = 0; i < kLinks; ++i) y = y + 1.0;
  EXPECT_EQ(x.error(), nullptr);
  const Expr table = input("table", DType::i64, {-1});
  Expr i = input("i", DType::i64);
  for (int k = 0; k < kLinks; ++k) i = table[i];
}

}  // namespace
}  // namespace scanloom
