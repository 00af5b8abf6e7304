// Limits of runs over several loops, dynamic tensors and reused sessions; operands of loops that
// are not what they must be.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "tests/api/models.h"

namespace scanloom::test {
namespace {

using namespace onnx::test;
using ::testing::HasSubstr;

/// "last": v + 1, m times (none: endless); v f32[N]. The trip count m and the condition c are i64
/// and boolean of [K].
std::string counting(const std::vector<std::string>& operands) {
  GraphBytes body;
  body.inputs = {value_info("i", kInt64, {}), value_info("go", kBool, {}), value_info("v")};
  body.outputs = {value_info("go_on"), value_info("w"), value_info("w")};
  body.initialisers = {float_tensor("one", {}, {1}), float_tensor("limit", {1}, {4})};
  body.nodes = {NodeBytes("Add", {"v", "one"}, {"w"}), NodeBytes("Less", {"w", "limit"}, {"less"}),
                NodeBytes("ReduceMax", {"less_i"}, {"most"}).integer("keepdims", 0),
                NodeBytes("Cast", {"less"}, {"less_i"}).integer("to", kInt64),
                NodeBytes("Cast", {"most"}, {"go_on"}).integer("to", kBool)};
  ModelBytes model;
  model.graph.inputs = {value_info("m", kInt64, {"K"}), value_info("c", kBool, {"K"}),
                        value_info("v0", kFloat, {"N"})};
  model.graph.outputs = {value_info("last"), value_info("rows")};
  model.graph.nodes = {
      NodeBytes("Loop", operands, {"last", "rows"}).name("count").graph("body", body.bytes())};
  return model.bytes();
}

TEST(Limits, TripCountsAndConditionsHaveOneElement) {
  const std::int64_t trips[] = {3, 5};
  const bool conditions[] = {true, false};
  const float v[] = {1};
  for (const Execution execution :
       {Execution::automatic, Execution::stepped, Execution::interpreted, Execution::compiled})
    for (const auto& operands :
         {std::vector<std::string>{"m", "", "v0"}, std::vector<std::string>{"", "c", "v0"}})
      for (const std::int64_t elements : {0, 1, 2}) {
        const Session session = load(counting(operands), {.execution = execution});
        const auto results = session.run({{"m", view(trips, {elements})},
                                          {"c", view(conditions, {elements})},
                                          {"v0", view(v, {1})}});
        ASSERT_EQ(results.has_value(), elements == 1);
        if (results) continue;
        EXPECT_EQ(results.error().code(), Code::invalid_argument);
        EXPECT_THAT(results.error().message(), HasSubstr("'count'"));
        EXPECT_THAT(results.error().message(), HasSubstr(std::to_string(elements)));
      }
}

TEST(Limits, DynamicRowsCountOnlyWhileTheyAreHeld) {
  const Session session = load(counting({"", "c", "v0"}));
  RunOptions options;
  options.max_memory = 1 << 20;
  const std::vector<float> v(100, -20);
  const std::int64_t trip = 0;
  const bool condition = true;
  for (int i = 0; i < 2000; ++i) {
    const auto results = session.run(
        {{"m", view(&trip, {1})}, {"c", view(&condition, {1})}, {"v0", view(v.data(), {100})}},
        options);
    ASSERT_TRUE(results) << "run " << i << ": " << results.error().message();
    ASSERT_EQ(results->at("rows").shape(), (std::vector<std::int64_t>{24, 100}));
  }
}

TEST(Limits, AFedTripCountTooLargeToBeMeantIsNone) {
  GraphBytes body;
  body.inputs = {value_info("i", kInt64, {}), value_info("go", kBool, {}),
                 value_info("v", kFloat, {})};
  body.outputs = {value_info("go"), value_info("w")};
  body.nodes = {NodeBytes("Sqrt", {"v"}, {"w"})};
  ModelBytes model;
  model.graph.inputs = {value_info("m", kInt64, {}), value_info("v0", kFloat, {})};
  model.graph.outputs = {value_info("last")};
  model.graph.nodes = {
      NodeBytes("Loop", {"m", "", "v0"}, {"last"}).name("roots").graph("body", body.bytes())};
  const Session session = load(model.bytes());
  const float v = 2;
  RunOptions options;
  options.deadline = 0.3;  // that or the default step limit ends it, whichever comes first
  for (const std::int64_t trip : {std::int64_t{1} << 53, INT64_MAX}) {
    std::int64_t heard = 0;
    options.progress = [&](const Progress& progress) { heard = progress.steps; };
    const auto results = session.run({{"m", view(&trip, {})}, {"v0", view(&v, {})}}, options);
    ASSERT_FALSE(results);
    EXPECT_EQ(results.error().code(), Code::limit_reached);
    EXPECT_LE(heard, 0) << "no number of steps is known";
  }
}

TEST(Limits, ProgressIsOfTheOutermostLoop) {
  GraphBytes inner;
  inner.inputs = {value_info("j", kInt64, {}), value_info("on", kBool, {}),
                  value_info("u", kFloat, {})};
  inner.outputs = {value_info("on"), value_info("s")};
  inner.nodes = {NodeBytes("Sqrt", {"u"}, {"s"})};
  GraphBytes outer;
  outer.inputs = {value_info("i", kInt64, {}), value_info("go", kBool, {}),
                  value_info("v", kFloat, {})};
  outer.outputs = {value_info("go"), value_info("w")};
  outer.nodes = {
      NodeBytes("Loop", {"n", "", "v"}, {"w"}).name("inner").graph("body", inner.bytes())};
  ModelBytes model;
  model.graph.inputs = {value_info("v0", kFloat, {})};
  model.graph.outputs = {value_info("last")};
  model.graph.initialisers = {int64_tensor("m", {}, {1000}),
                              int64_tensor("n", {}, {std::int64_t{1} << 40})};
  model.graph.nodes = {
      NodeBytes("Loop", {"m", "", "v0"}, {"last"}).name("outer").graph("body", outer.bytes())};
  const float v = 2;
  for (const Execution execution :
       {Execution::automatic, Execution::stepped, Execution::interpreted}) {
    const Session session = load(model.bytes(), {.execution = execution});
    int heard = 0;
    RunOptions options;
    options.deadline = 0.4;
    options.progress = [&](const Progress& progress) {
      ++heard;
      EXPECT_THAT(std::string(progress.node), HasSubstr("'outer'"));
      EXPECT_EQ(progress.step, 0);
      EXPECT_EQ(progress.steps, 1000);
    };
    const auto results = session.run({{"v0", view(&v, {})}}, options);
    ASSERT_FALSE(results);
    EXPECT_EQ(results.error().code(), Code::limit_reached);
    EXPECT_GE(heard, 1);
  }
}

/// "last": v0 f32[3] mixed with its mean, `n` times; step i reads element i mod `period` of
/// `table` by a kernel, which is called from the code of the body.
std::string mixing() {
  GraphBytes body;
  body.inputs = {value_info("i", kInt64, {}), value_info("go", kBool, {}),
                 value_info("v", kFloat, {3})};
  body.outputs = {value_info("go_on"), value_info("w")};
  body.nodes = {NodeBytes("Identity", {"go"}, {"go_on"}),
                NodeBytes("Mod", {"i", "period"}, {"at"}),
                NodeBytes("Gather", {"table", "at"}, {"entry"}).name("look_up"),
                NodeBytes("ReduceMean", {"v"}, {"mean"}).integer("keepdims", 1),
                NodeBytes("Sub", {"v", "mean"}, {"apart"}),
                NodeBytes("Add", {"apart", "entry"}, {"w"})};
  ModelBytes model;
  model.graph.inputs = {value_info("n", kInt64, {}), value_info("period", kInt64, {}),
                        value_info("table", kFloat, {10}), value_info("v0", kFloat, {3})};
  model.graph.outputs = {value_info("last")};
  model.graph.nodes = {
      NodeBytes("Loop", {"n", "", "v0"}, {"last"}).name("mix").graph("body", body.bytes())};
  return model.bytes();
}

/// The error of so many steps over a table of 10.
Error error_of_mixing(Execution execution, std::int64_t steps, std::int64_t period,
                      const RunOptions& options) {
  const Session session = load(mixing(), {.execution = execution});
  const std::vector<float> table(10, 1), v(3, 0.5F);
  const auto results = session.run({{"n", view(&steps, {})},
                                    {"period", view(&period, {})},
                                    {"table", view(table.data(), {10})},
                                    {"v0", view(v.data(), {3})}},
                                   options);
  return results ? Error(Code::internal, "none") : results.error();
}

TEST(Limits, HoldInTheCodeOfABody) {
  for (const Execution execution : {Execution::stepped, Execution::compiled}) {
    RunOptions options;
    options.max_steps = 1000;
    Error error = error_of_mixing(execution, std::int64_t{1} << 40, 10, options);
    EXPECT_EQ(error.code(), Code::limit_reached);
    EXPECT_THAT(error.message(), HasSubstr("step limit of 1000"));
    options.max_steps = -1;
    options.deadline = 0.1;
    error = error_of_mixing(execution, std::int64_t{1} << 40, 10, options);
    EXPECT_EQ(error.code(), Code::limit_reached);
    EXPECT_THAT(error.message(), HasSubstr("'mix'"));
  }
}

TEST(Limits, AKernelThatACompiledBodyCallsMayFindAFault) {
  const Error stepped = error_of_mixing(Execution::stepped, 1000, 11, {});
  const Error compiled = error_of_mixing(Execution::compiled, 1000, 11, {});
  EXPECT_EQ(compiled.code(), Code::invalid_argument);
  EXPECT_THAT(compiled.message(), HasSubstr("'look_up'"));
  EXPECT_EQ(compiled.message(), stepped.message());
}

/// "last": v0 f32[], of which each step below `cheap` takes the half, each later one the sum of a
/// product of (m + v) by m, m f32[K, K].
std::string cheap_then_dear() {
  GraphBytes half;
  half.outputs = {value_info("halved", kFloat, {})};
  half.nodes = {NodeBytes("Mul", {"v", "factor"}, {"halved"})};
  GraphBytes product;
  product.outputs = {value_info("summed", kFloat, {})};
  product.nodes = {NodeBytes("Add", {"m", "v"}, {"moved"}),
                   NodeBytes("MatMul", {"moved", "m"}, {"product"}),
                   NodeBytes("ReduceSum", {"product"}, {"summed"}).integer("keepdims", 0)};
  GraphBytes body;
  body.inputs = {value_info("i", kInt64, {}), value_info("go", kBool, {}),
                 value_info("v", kFloat, {})};
  body.outputs = {value_info("go_on"), value_info("w")};
  body.nodes = {NodeBytes("Identity", {"go"}, {"go_on"}),
                NodeBytes("Less", {"i", "cheap"}, {"is_cheap"}),
                NodeBytes("If", {"is_cheap"}, {"w"})
                    .graph("then_branch", half.bytes())
                    .graph("else_branch", product.bytes())};
  ModelBytes model;
  model.graph.inputs = {value_info("n", kInt64, {}), value_info("cheap", kInt64, {}),
                        value_info("m", kFloat, {"K", "K"}), value_info("v0", kFloat, {})};
  model.graph.initialisers = {float_tensor("factor", {}, {0.5F})};
  model.graph.outputs = {value_info("last")};
  model.graph.nodes = {
      NodeBytes("Loop", {"n", "", "v0"}, {"last"}).name("mix").graph("body", body.bytes())};
  return model.bytes();
}

// The number of steps between two polls was learnt from steps that took a millionth of what the
// next ones do: these would take minutes.
TEST(Limits, HoldWhereStepsBecomeDear) {
  constexpr std::int64_t kWidth = 512, kSteps = 1'000'000'000'000;
  const std::vector<float> matrix(kWidth * kWidth, 1e-3F);
  const float v = 1;
  for (const Execution execution : {Execution::stepped, Execution::compiled}) {
    const Session session = load(cheap_then_dear(), {.execution = execution});
    for (const std::int64_t cheap : {100'000, 3'000'000}) {
      RunOptions options;
      options.deadline = 1;
      const auto began = std::chrono::steady_clock::now();
      const auto results = session.run({{"n", view(&kSteps, {})},
                                        {"cheap", view(&cheap, {})},
                                        {"m", view(matrix.data(), {kWidth, kWidth})},
                                        {"v0", view(&v, {})}},
                                       options);
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
      ASSERT_FALSE(results);
      EXPECT_EQ(results.error().code(), Code::limit_reached);
      EXPECT_THAT(results.error().message(), HasSubstr("'mix'"));
      EXPECT_LT(taken.count(), 8) << results.error().message();
    }
  }
}

TEST(Limits, TheLargestValueIsNamed) {
  ModelBytes model;
  model.graph.inputs = {value_info("x", kFloat, {"N"})};
  model.graph.outputs = {value_info("y")};
  model.graph.initialisers = {int64_tensor("many", {1}, {1000})};
  model.graph.nodes = {NodeBytes("Tile", {"x", "many"}, {"wide"}).name("tile"),
                       NodeBytes("ReduceSum", {"wide"}, {"y"}).name("sum")};
  const Session session = load(model.bytes());
  const std::vector<float> x(1000, 1);
  RunOptions options;
  options.max_memory = 1 << 20;
  const auto results = session.run({{"x", view(x.data(), {1000})}}, options);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code(), Code::limit_reached);
  EXPECT_THAT(results.error().message(), HasSubstr("'tile'"));
  EXPECT_THAT(results.error().message(), HasSubstr("4000000 bytes"));
}

TEST(Limits, MoreOperandsThanACallCounts) {
  constexpr std::size_t kInputs = 65'536;
  ModelBytes model;
  model.graph.inputs = {value_info("x", kFloat, {1})};
  model.graph.outputs = {value_info("y")};
  model.graph.nodes = {
      NodeBytes("Concat", std::vector<std::string>(kInputs, "x"), {"y"}).integer("axis", 0)};
  const float x = 1;
  for (const Execution execution : {Execution::automatic, Execution::interpreted}) {
    const auto session = Session::load_bytes(as_bytes(model.bytes()), {.execution = execution});
    const auto results = session ? session->run({{"x", view(&x, {1})}}) : session.error();
    ASSERT_FALSE(results);
    EXPECT_THAT(results.error().message(), HasSubstr("65536"));
  }
}

TEST(Limits, ADeadlineHoldsOutsideOfLoopsToo) {
  ModelBytes model;
  model.graph.inputs = {value_info("x", kFloat, {"N", "N"})};
  model.graph.outputs = {value_info("y")};
  model.graph.nodes = {NodeBytes("MatMul", {"x", "x"}, {"a"}).name("square"),
                       NodeBytes("MatMul", {"a", "a"}, {"y"})};
  const std::vector<float> x(300 * 300, 1);
  RunOptions options;
  options.deadline = 1e-9;
  const auto results = load(model.bytes()).run({{"x", view(x.data(), {300, 300})}}, options);
  ASSERT_FALSE(results);
  EXPECT_THAT(results.error().message(), HasSubstr("'square'"));
}

/// Returns the seconds until a run ends with an error that names the node.
double seconds_to_stop(const Session& session, const std::vector<Feed>& feeds,
                       const RunOptions& options, const char* node, Code code) {
  const auto began = std::chrono::steady_clock::now();
  const auto results = session.run(feeds, options);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
  EXPECT_FALSE(results);
  if (results) return taken.count();
  EXPECT_EQ(results.error().code(), code);
  EXPECT_THAT(results.error().message(), HasSubstr(node));
  return taken.count();
}

/// Seconds, of calls that take five or more: a machine that others use takes its time.
#ifdef SCANLOOM_SANITIZED  // the runs would take many minutes
constexpr double kStopped = 30;
#else
constexpr double kStopped = 3;
#endif

/// A layer of H = 64 over x f32[T, N, 1]: half a microsecond per step and row.
std::string long_layer(bool has_lengths = false) {
  constexpr std::int64_t kUnits = 64;
  ModelBytes model;
  model.graph.inputs = {value_info("x", kFloat, {"T", "N", 1})};
  model.graph.initialisers = {
      float_tensor("w", {1, 4 * kUnits, 1}, std::vector<float>(4 * kUnits, 0.1F)),
      float_tensor("r", {1, 4 * kUnits, kUnits}, std::vector<float>(4 * kUnits * kUnits, 0.01F))};
  model.graph.outputs = {value_info("last")};
  std::vector<std::string> operands{"x", "w", "r"};
  if (has_lengths) {
    model.graph.inputs.push_back(value_info("lengths", kInt32, {"N"}));
    operands.insert(operands.end(), {"", "lengths"});
  }
  model.graph.nodes = {
      NodeBytes("LSTM", operands, {"", "last"}).name("layer").integer("hidden_size", kUnits)};
  return model.bytes();
}

// One call of a kernel takes all steps.
TEST(Limits, HoldInTheStepsOfALayer) {
  constexpr std::int64_t kSteps = 10'000'000;
  for (const int threads : {1, 2})
    for (const std::int64_t rows : {1, 20}) {
      const std::vector<float> x(static_cast<std::size_t>(kSteps), 0.5F);
      const Session session = load(long_layer(), {.threads = threads});
      const std::vector<Feed> feeds{{"x", view(x.data(), {kSteps / rows, rows, 1})}};
      RunOptions options;
      options.deadline = 0.1;
      EXPECT_LT(seconds_to_stop(session, feeds, options, "'layer'", Code::limit_reached), kStopped);
      CancelFlag flag;
      RunOptions cancelled;
      cancelled.cancel = &flag;
      std::thread canceller([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        flag.cancel();
      });
      EXPECT_LT(seconds_to_stop(session, feeds, cancelled, "'layer'", Code::cancelled), kStopped);
      canceller.join();
      // A stopped run leaves the session usable.
      const std::vector<Feed> few{{"x", view(x.data(), {5, 2, 1})}};
      EXPECT_TRUE(session.run(few));
    }
}

TEST(Limits, TheCallerIsCalledWithinALayer) {
  constexpr std::int64_t kSteps = 10'000'000;  // seconds
  const std::vector<float> x(static_cast<std::size_t>(kSteps), 0.5F);
  for (const int threads : {1, 2}) {
    const Session session = load(long_layer(), {.threads = threads});
    const std::vector<Feed> feeds{{"x", view(x.data(), {kSteps, 1, 1})}};
    CancelFlag flag;
    std::thread::id caller;
    RunOptions options;
    options.cancel = &flag;
    options.on_poll = [&] {
      caller = std::this_thread::get_id();
      flag.cancel();
    };
    const auto results = session.run(feeds, options);
    ASSERT_FALSE(results);
    EXPECT_EQ(results.error().code(), Code::cancelled);
    EXPECT_EQ(caller, std::this_thread::get_id());
  }
}

// The caller computes the short row, and waits for the thread that has the long one. It is also
// called before and after the layer, so only a later call ends the run.
TEST(Limits, TheCallerIsCalledWhileItWaitsWithinALayer) {
  constexpr std::int64_t kSteps = 5'000'000;  // seconds
  const std::vector<float> x(static_cast<std::size_t>(2 * kSteps), 0.5F);
  const std::vector<std::int32_t> lengths{1, kSteps};
  const Session session = load(long_layer(true), {.threads = 2});
  const std::vector<Feed> feeds{{"x", view(x.data(), {kSteps, 2, 1})},
                                {"lengths", view(lengths.data(), {2})}};
  CancelFlag flag;
  std::thread::id caller;
  int calls = 0;
  RunOptions options;
  options.cancel = &flag;
  options.on_poll = [&] {
    caller = std::this_thread::get_id();
    if (++calls == 5) flag.cancel();
  };
  const auto results = session.run(feeds, options);
  ASSERT_FALSE(results) << calls;
  EXPECT_EQ(results.error().code(), Code::cancelled);
  EXPECT_EQ(caller, std::this_thread::get_id());
}

TEST(Limits, HoldInALargeProduct) {
  constexpr std::int64_t kSize = 8000;  // 10 seconds
  ModelBytes model;
  model.graph.inputs = {value_info("x", kFloat, {"N", "N"})};
  model.graph.outputs = {value_info("y")};
  model.graph.nodes = {NodeBytes("MatMul", {"x", "x"}, {"y"}).name("square")};
  const std::vector<float> x(kSize * kSize, 1);
  for (const int threads : {1, 2}) {
    const Session session = load(model.bytes(), {.threads = threads});
    RunOptions options;
    options.deadline = 0.2;
    EXPECT_LT(seconds_to_stop(session, {{"x", view(x.data(), {kSize, kSize})}}, options, "'square'",
                              Code::limit_reached),
              kStopped);
  }
}

}  // namespace
}  // namespace scanloom::test
