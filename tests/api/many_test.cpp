// Many sequences: the order of results, lanes, errors of one sequence and of the source.
#include <scanloom/function.h>
#include <scanloom/many.h>

#include <gmock/gmock.h>

#include <thread>

#include "api/impl.h"
#include "api/many_target.h"
#include "api/many_variant.h"
#include "tests/api/models.h"

namespace scanloom::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// "last", "sums" like running_sums, for a batch: xs f32[T, N], start f32[N]. `is_backward`: sums
/// begin at the end.
std::string batched_sums(bool is_backward = false) {
  using namespace onnx::test;
  GraphBytes body;
  body.inputs = {value_info("before", kFloat, {"N"}), value_info("x", kFloat, {"N"})};
  body.outputs = {value_info("after", kFloat, {"N"}), value_info("row", kFloat, {"N"})};
  body.nodes = {NodeBytes("Add", {"before", "x"}, {"after"}).name("add_up"),
                NodeBytes("Identity", {"after"}, {"row"})};
  ModelBytes model;
  model.graph.name = "batched_sums";
  model.graph.inputs = {value_info("start", kFloat, {"N"}), value_info("xs", kFloat, {"T", "N"})};
  model.graph.outputs = {value_info("last", kFloat, {"N"}), value_info("sums", kFloat, {"T", "N"})};
  model.graph.nodes = {NodeBytes("Scan", {"start", "xs"}, {"last", "sums"})
                           .name("sums")
                           .integer("num_scan_inputs", 1)
                           .integers("scan_input_directions", {is_backward ? 1 : 0})
                           .integers("scan_output_directions", {is_backward ? 1 : 0})
                           .graph("body", body.bytes())};
  return model.bytes();
}

/// "last": start and the elements of {1, 2} that the indices xs i64[T, N] name; start f32[N].
std::string looked_up() {
  using namespace onnx::test;
  GraphBytes body;
  body.inputs = {value_info("before", kFloat, {"N"}), value_info("x", kInt64, {"N"})};
  body.outputs = {value_info("after", kFloat, {"N"})};
  body.nodes = {NodeBytes("Gather", {"table", "x"}, {"found"}),
                NodeBytes("Add", {"before", "found"}, {"after"})};
  ModelBytes model;
  model.graph.name = "looked_up";
  model.graph.inputs = {value_info("start", kFloat, {"N"}), value_info("xs", kInt64, {"T", "N"})};
  model.graph.outputs = {value_info("last", kFloat, {"N"})};
  const float table[] = {1, 2};
  model.graph.initialisers = {
      raw_tensor("table", kFloat, {2}, std::string(reinterpret_cast<const char*>(table), 8))};
  model.graph.nodes = {NodeBytes("Scan", {"start", "xs"}, {"last"})
                           .name("sums")
                           .integer("num_scan_inputs", 1)
                           .graph("body", body.bytes())};
  return model.bytes();
}

/// Sequences of these lengths, each from kXs.
SequenceSource of_lengths(std::vector<std::int64_t> lengths, std::int64_t rows = 1) {
  return
      [lengths, rows, next = std::size_t{0}]() mutable -> Expected<std::optional<SequenceFeeds>> {
        if (next == lengths.size()) return std::optional<SequenceFeeds>();
        SequenceFeeds made;
        made.feeds = {{"xs", view(kXs, {lengths[next++], rows})}, {"start", view(kStart, {rows})}};
        return std::optional(std::move(made));
      };
}

std::vector<SequenceResult> all(ManyRuns runs, ManyReport* report = nullptr) {
  std::vector<SequenceResult> results;
  while (true) {
    auto next = runs.next();
    EXPECT_TRUE(next) << next.error().message();
    if (!next || !*next) break;
    results.push_back(**std::move(next));
  }
  if (report != nullptr) *report = runs.report();
  return results;
}

TEST(Many, ResultsAreInOrderAndThoseOfSingleRuns) {
  const Session session = load(batched_sums());
  ManyReport report;
  const auto results =
      all(session.run_many(of_lengths({3, 0, 1, 8, 2}), {}).value_or_throw(), &report);
  ASSERT_EQ(results.size(), 5U);
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i].index, static_cast<std::int64_t>(i));
  EXPECT_THAT(floats(results[0].results.at("sums")), ElementsAre(11, 13, 16));
  EXPECT_THAT(floats(results[1].results.at("last")), ElementsAre(10));
  EXPECT_EQ(results[1].results.at("sums").shape(), (std::vector<std::int64_t>{0, 1}));
  EXPECT_THAT(floats(results[2].results.at("last")), ElementsAre(11));
  EXPECT_THAT(floats(results[3].results.at("last")), ElementsAre(46));
  EXPECT_TRUE(report.lanes);
  EXPECT_EQ(report.sequences, 5);
  EXPECT_EQ(report.alone, 1);
  EXPECT_EQ(report.steps, 14);
  EXPECT_EQ(report.filled_lane_steps, 14);
}

TEST(Many, AModelWithoutABatchGetsLanes) {
  const Session session = load(running_sums());
  ManyReport report;
  const auto results = all(session.run_many(of_lengths({3, 4}, 2), {}).value_or_throw(), &report);
  EXPECT_THAT(floats(results[0].results.at("last")), ElementsAre(19, 32));
  EXPECT_THAT(results[0].results.at("sums").shape(), ElementsAre(3, 2));
  EXPECT_THAT(floats(results[1].results.at("last")), ElementsAre(26, 40));
  EXPECT_TRUE(report.lanes) << report.node << ": " << report.reason;
  EXPECT_EQ(report.filled_lane_steps, 7);
}

TEST(Many, AReversedScanRunsInPaddedBatches) {
  const Session session = load(batched_sums(true));
  ManyReport report;
  const auto results =
      all(session.run_many(of_lengths({3, 0, 1, 8, 2}), {}).value_or_throw(), &report);
  ASSERT_EQ(results.size(), 5U);
  EXPECT_THAT(floats(results[0].results.at("sums")), ElementsAre(16, 15, 13));
  EXPECT_THAT(floats(results[1].results.at("last")), ElementsAre(10));
  EXPECT_THAT(floats(results[2].results.at("last")), ElementsAre(11));
  EXPECT_THAT(floats(results[3].results.at("last")), ElementsAre(46));
  EXPECT_THAT(floats(results[4].results.at("sums")), ElementsAre(13, 12));
  EXPECT_TRUE(report.padded);
  EXPECT_FALSE(report.lanes);
  EXPECT_THAT(report.reason, HasSubstr("it walks backwards"));
  EXPECT_EQ(report.sequences, 5);
  EXPECT_EQ(report.alone, 1);
  EXPECT_EQ(report.steps, 14);
  EXPECT_EQ(report.filled_lane_steps, 14);
  EXPECT_GE(report.lane_steps, 14);
  EXPECT_THAT(session.explain(), HasSubstr("sequences run in padded batches, not in lanes: "));
}

TEST(Many, FunctionsRunSequencesByTheNamesOfTheirInputs) {
  const Expr x = input("", DType::f32, {-1}), scale = input("", DType::f32, {});
  const Function fn = Function::compile({x, scale}, {x * scale}).value_or_throw();
  const std::span<const ValueInfo> inputs = fn.sequence_inputs().value_or_throw();
  ASSERT_EQ(inputs.size(), 2U);
  const std::string first = inputs[0].name, second = inputs[1].name;
  EXPECT_NE(first, second);
  const float factor = 2;
  int next = 0;
  const auto source = [&]() -> Expected<std::optional<SequenceFeeds>> {
    if (next == 3) return std::optional<SequenceFeeds>();
    SequenceFeeds made;
    made.feeds = {{first, view(kXs, {++next})}, {second, view(&factor, {})}};
    return std::optional(std::move(made));
  };
  const auto results = all(fn.run_many(source, {}).value_or_throw());
  ASSERT_EQ(results.size(), 3U);
  EXPECT_THAT(floats(results[1].results[0]), ElementsAre(2, 4));
}

/// "y": xs times "factor", whose default value is 2.
std::string scaled() {
  using namespace onnx::test;
  const float two = 2;
  ModelBytes model;
  model.graph.name = "scaled";
  model.graph.inputs = {value_info("xs", kFloat, {"T"}), value_info("factor", kFloat, {1})};
  model.graph.outputs = {value_info("y", kFloat, {"T"})};
  model.graph.initialisers = {
      raw_tensor("factor", kFloat, {1}, std::string(reinterpret_cast<const char*>(&two), 4))};
  model.graph.nodes = {NodeBytes("Mul", {"xs", "factor"}, {"y"})};
  return model.bytes();
}

TEST(Many, ASequenceMayReplaceDefaultValuesByNamingASession) {
  const Session session = load(scaled()), other = load(batched_sums());
  const Session fed =
      Session::load_bytes(as_bytes(scaled()), {.fed_defaults = {"factor"}}).value_or_throw();
  const float factor = 10;
  int next = 0;
  const auto source = [&]() -> Expected<std::optional<SequenceFeeds>> {
    if (next == 6) return std::optional<SequenceFeeds>();
    SequenceFeeds made;
    made.feeds = {{"xs", view(kXs, {++next})}};
    if (next % 2 == 0) {
      made.session = fed;
      made.feeds.push_back({"factor", view(&factor, {1})});
    }
    if (next == 5) made.session = other;
    return std::optional(std::move(made));
  };
  ManyOptions options{.outputs = {"y"}};
  ManyReport report;
  const auto results = all(session.run_many(source, options).value_or_throw(), &report);
  ASSERT_EQ(results.size(), 6U);
  EXPECT_THAT(floats(results[0].results.at("y")), ElementsAre(2));
  EXPECT_THAT(floats(results[1].results.at("y")), ElementsAre(10, 20));
  EXPECT_THAT(floats(results[2].results.at("y")), ElementsAre(2, 4, 6));
  EXPECT_THAT(floats(results[3].results.at("y")), ElementsAre(10, 20, 30, 40));
  ASSERT_TRUE(results[4].error);
  EXPECT_EQ(results[4].error->text(), "sequence 4: the model has no output 'y'");
  EXPECT_EQ(report.sequences, 5);

  const Expr x = input("x", DType::f32, {-1});
  const Function fn = Function::compile({x}, {x * 2}).value_or_throw();
  next = 1;
  const auto refused = fn.run_many(source, {}).value_or_throw().next();
  ASSERT_TRUE(refused && *refused && (*refused)->error);
  EXPECT_EQ((*refused)->error->text(), "sequence 0: sequences of a function cannot name a session");
}

TEST(Many, ReportsOfSeveralSessionsAreAdded) {
  ManyReport lanes{.is_decided = true, .lanes = true, .sequences = 2, .steps = 10, .runs = 1};
  ManyReport alone{.is_decided = true, .reason = "it works along the steps", .node = "'sum'"};
  alone.sequences = 3;
  ManyReport sum;
  add_report(sum, alone);
  EXPECT_EQ(sum.alone, 0);
  EXPECT_EQ(sum.reason, "it works along the steps");
  add_report(sum, lanes);
  EXPECT_TRUE(sum.lanes && sum.reason.empty());
  EXPECT_EQ(sum.sequences, 5);
  EXPECT_EQ(sum.alone, 3);
  EXPECT_EQ(sum.why_alone, "'sum': it works along the steps");
  EXPECT_EQ(sum.steps, -1);
  EXPECT_EQ(sum.runs, 1);
}

TEST(Many, SharedFeedsAreChecked) {
  const Session session = load(running_sums());
  const auto problem = [&](std::vector<Feed> shared) {
    return session.run_many(of_lengths({3}), {.shared = std::move(shared)}).error().text();
  };
  EXPECT_EQ(problem({{"star", view(kStart, {2})}}), "shared: the model has no input 'star'");
  EXPECT_EQ(problem({{"start", view(kStart, {2})}, {"start", view(kStart, {2})}}),
            "shared: input 'start' is fed twice");
  EXPECT_EQ(problem({{"start", view(kStart, {1})}}),
            "shared: input 'start' has size 2 on axis 0, but the feed has 1");
  EXPECT_EQ(problem({{"start", view(kStart, {2, 1})}}),
            "shared: input 'start' has rank 1, but the feed has rank 2 ([2,1])");
}

TEST(Many, AFunctionThatUpdatesAVariableIsRefused) {
  const Expr x = input("x", DType::f32, {-1});
  const float zero = 0;
  const Shared total("total", view(&zero, {}));
  FunctionOptions options;
  options.updates.set(total, total.variable() + sum(x));
  const Function fn = Function::compile({x}, {}, options).value_or_throw();
  EXPECT_THAT(fn.run_many(of_lengths({}), {}).error().text(), HasSubstr("'total'"));
}

TEST(Many, AResetBeginsAnew) {
  const Session session = load(batched_sums());
  const bool resets[] = {true, false, true, false};
  int left = 1;
  const auto source = [&]() -> Expected<std::optional<SequenceFeeds>> {
    if (left-- == 0) return std::optional<SequenceFeeds>();
    SequenceFeeds made;
    made.feeds = {{"xs", view(kXs, {4, 1})}, {"start", view(kStart, {1})}};
    made.reset = view(resets, {4});
    return std::optional(std::move(made));
  };
  const auto results = all(session.run_many(source, {}).value_or_throw());
  EXPECT_THAT(floats(results[0].results.at("sums")), ElementsAre(11, 13, 13, 17));
  EXPECT_THAT(floats(results[0].results.at("last")), ElementsAre(17));
}

TEST(Many, AnErrorOfOneSequenceIsItsResult) {
  const Session session = load(batched_sums());
  int next = 0;
  const auto source = [&]() -> Expected<std::optional<SequenceFeeds>> {
    if (next == 3) return std::optional<SequenceFeeds>();
    SequenceFeeds made;
    made.feeds = {{"xs", view(kXs, {2, 1})}, {"start", view(kStart, {1})}};
    if (next++ == 1) made.feeds.pop_back();
    return std::optional(std::move(made));
  };
  const auto results = all(session.run_many(source, {}).value_or_throw());
  ASSERT_EQ(results.size(), 3U);
  EXPECT_FALSE(results[0].error);
  ASSERT_TRUE(results[1].error);
  EXPECT_THAT(results[1].error->text(), HasSubstr("sequence 1: input 'start'"));
  EXPECT_THAT(floats(results[2].results.at("last")), ElementsAre(13));
}

TEST(Many, AnErrorOfTheSourceEndsAll) {
  const Session session = load(batched_sums());
  ManyRuns runs = session
                      .run_many(
                          []() -> Expected<std::optional<SequenceFeeds>> {
                            return Error(Code::not_found, "no such file");
                          },
                          {})
                      .value_or_throw();
  for (int i = 0; i < 2; ++i) {
    const auto next = runs.next();
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code(), Code::not_found);
  }
}

TEST(Many, ResultsBeforeAnErrorOfTheSourceAreDelivered) {
  for (const bool is_backward : {false, true}) {
    const Session session = load(batched_sums(is_backward));
    const auto broken = [source = of_lengths({3, 1})]() -> Expected<std::optional<SequenceFeeds>> {
      auto next = source();
      if (next && !*next) return Error(Code::not_found, "no more");
      return next;
    };
    ManyRuns runs = session.run_many(broken, {}).value_or_throw();
    for (const float last : {16.0F, 11.0F}) {
      const auto next = runs.next();
      ASSERT_TRUE(next && *next);
      EXPECT_THAT(floats((*next)->results.at("last")), ElementsAre(last));
    }
    for (int i = 0; i < 2; ++i) {  // all later calls repeat it
      const auto next = runs.next();
      ASSERT_FALSE(next);
      EXPECT_EQ(next.error().text(), "no more");
    }
  }
}

TEST(Many, StepsOfRunsThatFailedCountOnce) {
  const Session session = load(looked_up());
  std::vector<std::int64_t> wrong(12), right(20);
  wrong.back() = 7;
  std::size_t next = 0;
  const auto source = [&]() -> Expected<std::optional<SequenceFeeds>> {
    if (next == 2) return std::optional<SequenceFeeds>();
    std::vector<std::int64_t>& indices = next++ == 0 ? wrong : right;
    SequenceFeeds made;
    made.feeds = {{"xs", view(indices.data(), {std::ssize(indices), 1})},
                  {"start", view(kStart, {1})}};
    return std::optional(std::move(made));
  };
  ManyOptions options;
  options.batch = 2;
  ManyReport report;
  const auto results = all(session.run_many(source, options).value_or_throw(), &report);
  ASSERT_TRUE(results[0].error);
  EXPECT_THAT(floats(results[1].results.at("last")), ElementsAre(30));
  EXPECT_TRUE(report.lanes) << report.node << ": " << report.reason;
  EXPECT_GT(report.lane_steps, 0);  // before the run that failed
  EXPECT_EQ(report.alone, report.threads > 1 ? 1 : 2);
  EXPECT_EQ(report.steps, 32);
}

/// A target like that of a session, whose programs for given sizes `for_sizes` makes.
ManyTarget target_of(const std::string& model, decltype(ManyTarget::for_sizes) for_sizes) {
  ManyTarget target;
  target.model = Session::Impl::make({.owner = {}, .bytes = model, .folder = {}, .path = {}}, {})
                     .value_or_throw();
  target.program = target.model->many_program({false, false}).value_or_throw();
  target.run = [impl = target.model](std::span<const Feed> feeds, const RunOptions& run,
                                     std::span<const std::string> wanted, std::uint64_t number) {
    return impl->run(feeds, run, wanted, false, number);
  };
  target.for_sizes = std::move(for_sizes);
  return target;
}

TEST(Many, PaddedBatchesKeepTheBindingsOfAllTheirNumbersOfSteps) {
  const std::string bytes = batched_sums(true);  // is read again for the sizes
  ManyTarget target = target_of(bytes, {});
  target.for_sizes = [&, model = target.model](const Arranged& first) {
    auto found = model->many_program_for(first.shapes, {false, false}, 2);
    if (found) target.program = *found;
    return found;
  };
  const std::vector<float> xs(40, 1);
  std::int64_t steps = 0;
  const auto source = [&]() -> Expected<std::optional<SequenceFeeds>> {
    if (steps == 40) return std::optional<SequenceFeeds>();
    SequenceFeeds made;
    made.feeds = {{"xs", view(xs.data(), {++steps, 1})}, {"start", view(kStart, {1})}};
    return std::optional(std::move(made));
  };
  ManyOptions options;
  options.batch = 1;
  ManyReport report;
  all(target.start(source, options).value_or_throw(), &report);
  ASSERT_TRUE(report.padded) << report.reason;
  EXPECT_EQ(report.runs, 40);
  EXPECT_EQ(target.program->steps->bound.size(), 36U);  // from 32 on, odd ones are rounded up
}

TEST(Many, OnlyErrorsAboutItsSizesLeaveASequenceAlone) {
  for (const Code code : {Code::invalid_argument, Code::invalid_model, Code::out_of_memory,
                          Code::limit_reached, Code::internal}) {
    const ManyTarget target =
        target_of(running_sums(), [code](const Arranged&) { return Error(code, "no program"); });
    ManyRuns runs = target.start(of_lengths({3}, 2), {}).value_or_throw();
    const auto next = runs.next();
    if (code == Code::invalid_argument || code == Code::invalid_model) {
      ASSERT_TRUE(next && *next) << code_name(code);
      EXPECT_EQ(runs.report().why_alone, "its sizes do not fit together: no program");
      EXPECT_FALSE(runs.report().is_decided);
      EXPECT_EQ(runs.report().steps, -1);
      continue;
    }
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code(), code);
  }
}

TEST(Many, CancelledAndLimitedRunsEnd) {
  const Session session = load(batched_sums());
  CancelFlag flag;
  flag.cancel();
  ManyOptions options;
  options.run.cancel = &flag;
  ManyRuns runs = session.run_many(of_lengths({3, 4}), options).value_or_throw();
  EXPECT_EQ(runs.next().error().code(), Code::cancelled);
  options.run.cancel = nullptr;
  options.run.deadline = 1e-9;
  ManyRuns late = session.run_many(of_lengths({3, 4}), options).value_or_throw();
  EXPECT_EQ(late.next().error().code(), Code::limit_reached);
}

TEST(Many, AnExceptionOfTheProgressEndsAll) {
  const Session session = load(batched_sums());
  ManyOptions options;
  options.progress = [](const ManyProgress&) { throw 7; };
  const std::vector<std::int64_t> lengths(500, 4);
  for (const std::int64_t rows : {1, 2}) {  // in lanes, and alone
    ManyRuns runs = session.run_many(of_lengths(lengths, rows), options).value_or_throw();
    EXPECT_THROW((void)runs.next(), int);
    const auto next = runs.next();
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code(), Code::cancelled);
  }
  EXPECT_EQ(all(session.run_many(of_lengths({3, 4}), {}).value_or_throw()).size(), 2U);
}

TEST(Many, OptionsAreChecked) {
  const Session session = load(batched_sums());
  ManyOptions options;
  options.batch = -1;
  EXPECT_THAT(session.run_many(of_lengths({}), options).error().text(), HasSubstr("batch is -1"));
  options = {};
  options.window = -2;
  EXPECT_THAT(session.run_many(of_lengths({}), options).error().text(), HasSubstr("window is -2"));
  options = {};
  options.outputs = {"other"};
  EXPECT_THAT(session.run_many(of_lengths({}), options).error().text(),
              HasSubstr("no output 'other'"));
}

TEST(Many, ManyIteratorsShareASession) {
  const Session session = load(batched_sums());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const std::vector<std::int64_t> lengths(200, 7);
      const auto results =
          all(session.run_many(of_lengths(lengths), {.batch = 8}).value_or_throw());
      EXPECT_EQ(results.size(), 200U);
      for (const SequenceResult& result : results)
        EXPECT_THAT(floats(result.results.at("last")), ElementsAre(38));
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace scanloom::test
