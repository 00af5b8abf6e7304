// Shared variables: calls from many threads, calls within calls, draws inside and outside of loops.
#include <scanloom/function.h>
#include <scanloom/scan.h>

#include <atomic>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expr/shared.h"

namespace scanloom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

double number_of(const Value& value) { return value.as<double>()[0]; }

TEST(SharedTest, ACallSeesTheValuesOfOneMoment) {
  const Shared a("a", 0.0), b("b", 0.0);
  const Function both =
      Function::compile({}, {}, {.updates = {{a, a + 1}, {b, b + 1}}}).value_or_throw();
  const Function difference = Function::compile({}, {a.variable() - b}).value_or_throw();
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) (void)both({});
  });
  int torn = 0;
  for (int i = 0; i < 20000; ++i) torn += number_of(difference({}).value_or_throw()[0]) != 0;
  stop = true;
  writer.join();
  EXPECT_EQ(torn, 0);
}

TEST(SharedTest, UpdatesFromManyThreadsAreAllCounted) {
  const Shared a("a", 0.0), b("b", 0.0);
  // In opposite order, which must not stop both.
  const Function one =
      Function::compile({}, {}, {.updates = {{a, a + 1}, {b, b + 1}}}).value_or_throw();
  const Function two =
      Function::compile({}, {}, {.updates = {{b, b + 1}, {a, a + 1}}}).value_or_throw();
  constexpr int kCalls = 500;
  const auto work = [](const Function& f) {
    for (int i = 0; i < kCalls; ++i) (void)f({});
  };
  std::thread first(work, one), second(work, two);
  first.join();
  second.join();
  EXPECT_EQ(number_of(a.value()), 2 * kCalls);
  EXPECT_EQ(number_of(b.value()), 2 * kCalls);
}

TEST(SharedTest, AFunctionIsGivenOtherVariables) {
  const Shared a("a", 1.0), total("total", 0.0), other("b", 5.0), sum("sum", 0.0);
  const Function old =
      Function::compile({}, {a * 2}, {.updates = {{total, a + 3}, {a, a + 1}}}).value_or_throw();
  const Function made = old.with_shared({other, sum}).value_or_throw();
  EXPECT_THAT(made.shared(), ElementsAre(other, sum));
  EXPECT_EQ(number_of(made({}).value_or_throw()[0]), 10);
  EXPECT_EQ(number_of(other.value()), 6);
  EXPECT_EQ(number_of(sum.value()), 8);
  EXPECT_EQ(number_of(a.value()), 1);
  EXPECT_EQ(number_of(old({}).value_or_throw()[0]), 2);
}

TEST(SharedTest, OtherVariablesOfAFunctionMustFit) {
  const std::vector<double> values = {1, 2};
  const Shared a("a", view(values.data(), {1, 2}), {0}), b("b", 1.0);
  const Function f = Function::compile({}, {a + b}).value_or_throw();
  Shared open("open", view(values.data(), {1, 2}));
  const Shared column("column", view(values.data(), {2, 1}));
  const auto message = [&](const std::vector<Shared>& given) {
    const auto made = f.with_shared(given);
    return made ? "" : made.error().message();
  };
  EXPECT_THAT(message({a}), HasSubstr("has 2 shared variables, but 1 values are given"));
  EXPECT_THAT(message({b, b}), HasSubstr("'a' is f64[1,?], but its replacement is f64[]"));
  EXPECT_THAT(message({column, b}), HasSubstr("'a' has size 1 on axis 0 by its type"));
  EXPECT_THAT(message({Shared(a + 1), b}), HasSubstr("is not a shared variable"));
  const Function twice = Function::compile({}, {b + Shared("c", 2.0)}).value_or_throw();
  const auto same = twice.with_shared({b, b});
  ASSERT_FALSE(same);
  EXPECT_THAT(same.error().message(), HasSubstr("'b' is given for two shared variables"));
  // Calls check what the type of a shared variable leaves open.
  const Function made = f.with_shared({open, b}).value_or_throw();
  EXPECT_TRUE(made({}));
  ASSERT_TRUE(open.set(view(values.data(), {2, 1})));
  EXPECT_FALSE(made({}));
}

TEST(SharedTest, AnUpdateWithinACallThatUpdatesTheSameIsAnError) {
  const Shared a("a", 0.0);
  const Function inner = Function::compile({}, {}, {.updates = {{a, a + 1}}}).value_or_throw();
  const Function reader = Function::compile({}, {a + 0}).value_or_throw();
  const Expr steps = input("steps", DType::i64);
  const ScanOptions slow{.initial = {zeros(constant<std::int64_t>({500}))}, .steps = steps};
  const Expr last = scan(slow, [](const StepInputs& step) { return sin(step.state(0)) + 1; })[-1];
  const Function outer =
      Function::compile({steps}, {}, {.updates = {{a, a + 10 + 0 * sum(last)}}}).value_or_throw();
  int called = 0;
  RunOptions options;
  options.progress = [&](const auto&...) {
    if (++called > 1) return;
    const auto again = inner({});
    ASSERT_FALSE(again);
    EXPECT_THAT(again.error().message(), HasSubstr("shared variable 'a'"));
    EXPECT_EQ(number_of(reader({}).value_or_throw()[0]), 0);
  };
  const std::int64_t many = 600000;
  const View value = view(&many, {});
  ASSERT_TRUE(outer.call({&value, 1}, options));
  EXPECT_GT(called, 0);
  EXPECT_EQ(number_of(a.value()), 10);
  ASSERT_TRUE(inner({}));
  EXPECT_EQ(number_of(a.value()), 11);
}

/// The elements of both results of a call.
std::set<double> drawn(const Function& f) {
  std::set<double> all;
  for (const Value& value : f({}).value_or_throw())
    for (const double x : value.as<double>()) all.insert(x);
  return all;
}

TEST(SharedTest, ADrawInsideAndOutsideOfLoopsNeverRepeatsBetweenCalls) {
  RandomStreams random(7);
  const Expr draw = random.uniform(constant<std::int64_t>({2}));
  const ScanResult three = scan_steps({.steps = 3}, [&](const StepInputs&) { return Step(draw); });
  const ScanResult two = scan_steps({.steps = 2}, [&](const StepInputs&) { return Step(draw); });
  Updates both;
  ASSERT_TRUE(both.merge(three.updates));
  ASSERT_TRUE(both.merge(two.updates));
  const Function alone =
      Function::compile({}, {draw, three.outputs[0], two.outputs[0]}).value_or_throw();
  const Function told =
      Function::compile({}, {three.outputs[0], two.outputs[0]}, {.updates = both}).value_or_throw();
  std::set<double> seen;
  for (const Function* f : {&alone, &alone, &told, &told, &alone}) {
    const std::set<double> now = drawn(*f);
    EXPECT_EQ(now.size(), 6);  // three draws of two numbers, which all readers share
    for (const double x : now) EXPECT_TRUE(seen.insert(x).second) << x;
  }
}

TEST(SharedTest, ADrawInASideOfABranchCounts) {
  RandomStreams random(7);
  const Expr draw = random.uniform(constant<std::int64_t>({1}));
  const Expr more = input("more", DType::boolean);
  const ScanResult loop = scan_steps({.steps = 4}, [&](const StepInputs&) { return Step(draw); });
  const Expr side = if_else(more, sum(loop.outputs[0]), number(0, DType::f64));
  const Function f = Function::compile({more}, {draw, side}).value_or_throw();
  const auto draws = [&](bool yes) {
    const std::uint64_t before = random.updates().entries()[0].first.value().as<std::uint64_t>()[0];
    (void)f({view(&yes, {})}).value_or_throw();
    return random.updates().entries()[0].first.value().as<std::uint64_t>()[0] - before;
  };
  EXPECT_EQ(draws(true), 4);
  EXPECT_EQ(draws(false), 1);
}

TEST(SharedTest, NamesInAModelAreDistinct) {
  const Shared a("w", 1.0), b("w", 2.0), c("", 3.0), d("", 4.0);
  const Function f =
      Function::compile({}, {a.variable() + b + c + d},
                        {.updates = {{a, a + 1}, {b, b + 1}, {c, c + 1}, {d, d + 1}}})
          .value_or_throw();
  const std::string model = f.to_onnx().value_or_throw();
  const std::span<const char> bytes(model.data(), model.size());
  const Session session = Session::load_bytes(std::as_bytes(bytes)).value_or_throw();
  std::set<std::string> names;
  for (const ValueInfo& value : session.inputs()) names.insert(std::string(value.name));
  EXPECT_EQ(names.size(), 4);
  names.clear();
  for (const ValueInfo& value : session.outputs()) names.insert(std::string(value.name));
  EXPECT_EQ(names.size(), 5);
}

TEST(SharedTest, StrictLoopsMayReadTheirSequences) {
  const double values[] = {1, 2, 3};
  const Shared w("w", view(values, {3}));
  const Expr y = scan({.sequences = {Expr(w)}, .strict = true},
                      [&](const StepInputs& step) { return step[0] * sum(w); });
  const Function f = Function::compile({}, {y}).value_or_throw();
  EXPECT_THAT(f({}).value_or_throw()[0].as<double>(), testing::ElementsAre(6, 12, 18));
}

/// A table of 4 rows of 2 elements: 0, 1, 2 ...
Shared table_of_eight() {
  const std::vector<double> elements{0, 1, 2, 3, 4, 5, 6, 7};
  return Shared("table", view(elements.data(), {4, 2}));
}

/// Returns the address of the elements without keeping them alive.
const void* place_of(const Shared& variable) {
  return variable.variable().node()->shared->value.data();
}

TEST(SharedPartsTest, RowsAreWrittenWhereTheyLie) {
  const Shared table = table_of_eight();
  const Expr rows = input("rows", DType::i64, {-1});
  const Expr new_value = increment_subtensor(subtensor(table.variable(), {Index::of(rows)}), 10.0);
  const Function f =
      Function::compile({rows}, {sum(table.variable())}, {.updates = {{table, new_value}}})
          .value_or_throw();
  const void* const place = place_of(table);
  const std::vector<std::int64_t> which{2, -1, 2};
  EXPECT_EQ(number_of(f({view(which.data(), {3})}).value_or_throw()[0]), 28);
  EXPECT_EQ(number_of(f({view(which.data(), {3})}).value_or_throw()[0]), 88);
  EXPECT_EQ(place_of(table), place);
  EXPECT_THAT(table.value().as<double>(), testing::ElementsAre(0, 1, 2, 3, 44, 45, 26, 27));
}

TEST(SharedPartsTest, WhoHoldsTheValueKeepsIt) {
  const Shared table = table_of_eight();
  const Expr row = input("row", DType::i64);
  const Function f =
      Function::compile({row}, {table},
                        {.updates = {{table, set_subtensor(table.variable()[row], -1.0)}}})
          .value_or_throw();
  const std::int64_t first = 0, last = 3;
  const Value before = table.value();
  const Value result = f({view(&first, {})}).value_or_throw()[0];
  const Value between = table.value();
  ASSERT_TRUE(f({view(&last, {})}));
  EXPECT_THAT(before.as<double>(), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(result.as<double>(), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(between.as<double>(), testing::ElementsAre(-1, -1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(table.value().as<double>(), testing::ElementsAre(-1, -1, 2, 3, 4, 5, -1, -1));
}

TEST(SharedPartsTest, ALoadedFunctionNeverWritesToWhatItWasReadFrom) {
  const Shared table = table_of_eight();
  const Expr row = input("row", DType::i64);
  const Function f =
      Function::compile({row}, {table.variable()[row]},
                        {.updates = {{table, set_subtensor(table.variable()[row], -1.0)}}})
          .value_or_throw();
  const std::string path = testing::TempDir() + "scanloom_parts";
  ASSERT_TRUE(f.save(path));
  const std::int64_t second = 1;
  for (int i = 0; i < 2; ++i) {
    const Function loaded = Function::load(path).value_or_throw();
    for (const double want : {2.0, -1.0})
      EXPECT_EQ(number_of(loaded({view(&second, {})}).value_or_throw()[0]), want);
  }
  EXPECT_EQ(number_of(f({view(&second, {})}).value_or_throw()[0]), 2);
}

/// Updates of three variables, of which the last fails where `row` is outside.
struct ThreeUpdates {
  Shared count{"count", 0.0};
  Shared table = table_of_eight();
  Shared other = table_of_eight();
  Expr row = input("row", DType::i64), steps = input("steps", DType::i64);

  [[nodiscard]] Function compiled() const {
    const Expr last = scan({.initial = {number(0, DType::f64)}, .steps = steps},
                           [](const StepInputs& step) { return sin(step.state(0)) + 1; })[-1];
    return Function::compile(
               {row, steps}, {last},
               {.updates = {{count, count + 1},
                            {table, increment_subtensor(table.variable()[Expr(0)], last)},
                            {other, set_subtensor(other.variable()[row], 0.0)}}})
        .value_or_throw();
  }
  [[nodiscard]] bool is_unchanged() const {
    const auto eight = testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7);
    return number_of(count.value()) == 0 && testing::Matches(eight)(table.value().as<double>()) &&
           testing::Matches(eight)(other.value().as<double>());
  }
};

TEST(SharedPartsTest, ACallThatFailsChangesNothing) {
  const ThreeUpdates updates;
  const Function f = updates.compiled();
  std::int64_t row = 4, steps = 3;
  const std::vector<View> values{view(&row, {}), view(&steps, {})};
  const auto failed = f.call(values);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), HasSubstr("index 4 is outside an axis of 4 elements"));
  EXPECT_TRUE(updates.is_unchanged());
  row = 1;
  ASSERT_TRUE(f.call(values));
  EXPECT_EQ(number_of(updates.count.value()), 1);
}

TEST(SharedPartsTest, ACallThatIsStoppedChangesNothing) {
  const ThreeUpdates updates;
  const Function f = updates.compiled();
  const std::int64_t row = 1, steps = 100'000'000;
  const std::vector<View> values{view(&row, {}), view(&steps, {})};
  EXPECT_FALSE(f.call(values, {.deadline = 0.01}));
  EXPECT_FALSE(f.call(values, {.max_steps = 1000}));
  CancelFlag flag;
  RunOptions options;
  options.cancel = &flag;
  options.progress = [&](const auto&...) { flag.cancel(); };
  EXPECT_FALSE(f.call(values, options));
  EXPECT_TRUE(updates.is_unchanged());
}

TEST(SharedPartsTest, EveryExecutionDoesTheSame) {
  for (const Execution execution :
       {Execution::automatic, Execution::stepped, Execution::compiled, Execution::interpreted})
    for (const bool optimize : {true, false}) {
      const Shared table = table_of_eight();
      const Expr rows = input("rows", DType::i32, {-1});
      const Expr part = subtensor(table.variable(), {Index::of(rows)});
      const Expr twice = set_subtensor(increment_subtensor(part, part)[Expr(3)], 9.0);
      FunctionOptions options{.updates = {{table, twice}}};
      options.session.execution = execution;
      options.session.optimize = optimize;
      const Function f = Function::compile({rows}, {sum(part)}, options).value_or_throw();
      const std::vector<std::int32_t> which{1, 1, -4};
      EXPECT_EQ(number_of(f({view(which.data(), {3})}).value_or_throw()[0]), 11);
      EXPECT_THAT(table.value().as<double>(), testing::ElementsAre(0, 2, 6, 9, 4, 5, 9, 9));
    }
}

}  // namespace
}  // namespace scanloom
