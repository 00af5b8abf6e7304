// Stream: the states that a push leaves to the next one, which are committed together or not at
// all.
#include <scanloom/session.h>

#include <gmock/gmock.h>

#include <array>
#include <memory>
#include <thread>

#include "tests/api/models.h"

namespace scanloom::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Session streaming() {
  SessionOptions options;
  options.states = {{"start", "last"}};
  return load(running_sums(), options);
}

std::vector<float> last_after(Stream& stream, std::int64_t steps) {
  auto results = stream.push({{"xs", view(kXs, {steps, 2})}});
  EXPECT_TRUE(results) << results.error().message();
  return floats(results->at("last"));
}

TEST(Stream, PiecesGiveTheBitsOfTheWhole) {
  const Session session = streaming();
  Stream pieces = session.stream().value_or_throw(), whole = session.stream().value_or_throw();
  std::vector<float> rows;
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto results = pieces.push({{"xs", view(kXs + 2 * i, {1, 2})}});
    ASSERT_TRUE(results);
    for (const float x : floats(results->at("sums"))) rows.push_back(x);
  }
  const auto results = whole.push({{"xs", view(kXs, {4, 2})}});
  EXPECT_EQ(floats(results->at("sums")), rows);
}

TEST(Stream, GoesOnWhereAnotherOneWasSaved) {
  const Session session = load(running_sums());
  const float start[] = {100, 200};
  Stream stream = session.stream().value_or_throw();
  ASSERT_TRUE(stream.set("start", view(start, {2})));
  Stream first = session.stream().value_or_throw();
  ASSERT_TRUE(first.restore(stream.save()));
  EXPECT_THAT(last_after(first, 1), ElementsAre(101, 202));
  EXPECT_THAT(last_after(stream, 2), ElementsAre(104, 206));
  Stream second = session.stream().value_or_throw();
  ASSERT_TRUE(second.restore(stream.save()));
  EXPECT_THAT(last_after(second, 1), ElementsAre(105, 208));
  EXPECT_THAT(last_after(stream, 1), ElementsAre(105, 208));

  StreamState other = stream.save();
  other.states = {};
  other.states.add("nobody",
                   Value(DType::f32, {2}, std::make_shared<const std::array<float, 2>>()));
  const auto restored = stream.restore(other);
  ASSERT_FALSE(restored);
  EXPECT_THAT(restored.error().message(), HasSubstr("has no state 'nobody'"));
  EXPECT_THAT(last_after(stream, 1), ElementsAre(106, 210)) << "it keeps what it had";
}

TEST(Stream, OfLowLatencyNamesWhatLoopsCarry) {
  SessionOptions options;
  options.low_latency = true;
  const Session session = load(running_sums(), options);
  ASSERT_EQ(session.states().size(), 1u);
  const std::string name = session.states()[0].name;
  EXPECT_THAT(name, ::testing::EndsWith("/variable_0"));
  const float start[] = {100, 200};
  const View begin = view(start, {2});
  const auto whole = session.run({{"xs", view(kXs, {4, 2})}, {"start", begin}});
  ASSERT_TRUE(whole) << whole.error().text();
  Stream stream = session.stream().value_or_throw();
  EXPECT_EQ(stream.get(name).error().code(), Code::not_found);
  std::vector<float> rows;
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto results = stream.push({{"xs", view(kXs + 2 * i, {1, 2})}, {"start", begin}});
    ASSERT_TRUE(results) << results.error().text();
    for (const float x : floats(results->at("sums"))) rows.push_back(x);
    EXPECT_EQ(floats(stream.get(name).value_or_throw()), floats(results->at("last")));
  }
  EXPECT_EQ(floats(whole->at("sums")), rows);
}

TEST(Stream, KeepsWhatLoopsCarryWhereNoStateIsNamed) {
  const Session session = load(running_sums());
  Stream pieces = session.stream().value_or_throw(), whole = session.stream().value_or_throw();
  const float start[] = {100, 200};
  const auto nothing = pieces.push({{"xs", view(kXs, {1, 2})}});
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().message(), HasSubstr("'start' (tensor(float)) is not fed"));
  ASSERT_TRUE(pieces.set("start", view(start, {2})));
  std::vector<float> rows;
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto results = pieces.push({{"xs", view(kXs + 2 * i, {1, 2})}});
    ASSERT_TRUE(results) << results.error().text();
    EXPECT_EQ(results->size(), session.outputs().size());
    for (const float x : floats(results->at("sums"))) rows.push_back(x);
  }
  const auto results = whole.push({{"xs", view(kXs, {4, 2})}, {"start", view(start, {2})}});
  ASSERT_TRUE(results) << results.error().text();
  EXPECT_EQ(floats(results->at("sums")), rows);
  const auto late = whole.push({{"xs", view(kXs, {4, 2})}, {"start", view(start, {2})}});
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message(), HasSubstr("'start' is only read when a stream begins"));
  whole.reset();
  EXPECT_FALSE(whole.push({{"xs", view(kXs, {1, 2})}}));
}

TEST(Stream, TakesAsManyStepsAsASequenceHasThatNobodyReads) {
  for (const bool optimize : {true, false}) {
    const Session session = load(doubled_as_often(), {.optimize = optimize});
    Expected<Stream> stream = session.stream();
    ASSERT_TRUE(stream) << stream.error().message();
    const float start[] = {1, 3}, xs[9] = {};
    ASSERT_TRUE(stream->set("start", view(start, {2})));
    const auto two = stream->push({{"xs", view(xs, {2, 3})}});
    ASSERT_TRUE(two) << two.error().message();
    EXPECT_THAT(floats(two->at("rows")), ElementsAre(2, 6, 4, 12));
    const auto none = stream->push({{"xs", view(xs, {0, 3})}});
    ASSERT_TRUE(none) << none.error().message();
    EXPECT_THAT(floats(none->at("last")), ElementsAre(4, 12));
    const auto one = stream->push({{"xs", view(xs, {1, 3})}});
    ASSERT_TRUE(one) << one.error().message();
    EXPECT_THAT(floats(one->at("rows")), ElementsAre(8, 24));
  }
}

TEST(Stream, ExplainsTheLoopsThatItRuns) {
  Stream stream = streaming().stream().value_or_throw();
  EXPECT_THAT(stream.explain(), HasSubstr("strategy  "));
  ASSERT_TRUE(stream.push({{"xs", view(kXs, {2, 2})}}));
  EXPECT_THAT(stream.explain(), HasSubstr("(2 steps)"));
}

TEST(Stream, SetAndReset) {
  Stream stream = streaming().stream().value_or_throw();
  const float start[] = {100, 200};
  ASSERT_TRUE(stream.set("start", view(start, {2})));
  EXPECT_THAT(last_after(stream, 1), ElementsAre(101, 202));
  EXPECT_THAT(last_after(stream, 1), ElementsAre(102, 204));
  stream.reset();
  EXPECT_THAT(last_after(stream, 2), ElementsAre(4, 6));
  EXPECT_THAT(last_after(stream, 0), ElementsAre(4, 6));
}

TEST(Stream, AFailedPushLeavesTheStateAsItWas) {
  Stream stream = streaming().stream().value_or_throw();
  EXPECT_THAT(last_after(stream, 2), ElementsAre(4, 6));
  const auto wrong = stream.push({{"xs", view(kXs, {2, 3})}});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("'xs'"));
  EXPECT_THAT(last_after(stream, 1), ElementsAre(5, 8));
}

/// "last" = start + the sum over axis 0 of xs; start f32[N], xs f32[T, N]: no state says what N is.
std::string sums_of_any_width() {
  using namespace onnx::test;
  GraphBytes body;
  body.inputs = {value_info("before", kFloat, {"N"}), value_info("x", kFloat, {"N"})};
  body.outputs = {value_info("after", kFloat, {"N"})};
  body.nodes = {NodeBytes("Add", {"before", "x"}, {"after"})};
  ModelBytes model;
  model.graph.name = "sums_of_any_width";
  model.graph.inputs = {value_info("start", kFloat, {"N"}), value_info("xs", kFloat, {"T", "N"})};
  model.graph.outputs = {value_info("last", kFloat, {"N"})};
  model.graph.nodes = {NodeBytes("Scan", {"start", "xs"}, {"last"})
                           .integer("num_scan_inputs", 1)
                           .graph("body", body.bytes())};
  return model.bytes();
}

/// "w": w0 and the outer products of the rows of xs f32[T, 8], summed up.
std::string sum_of_products() {
  using namespace onnx::test;
  GraphBytes body;
  body.inputs = {value_info("before", kFloat, {8, 8}), value_info("x", kFloat, {8})};
  body.outputs = {value_info("after", kFloat, {8, 8})};
  body.initialisers = {int64_tensor("first", {1}, {0}), int64_tensor("second", {1}, {1})};
  body.nodes = {NodeBytes("Unsqueeze", {"x", "first"}, {"row"}),
                NodeBytes("Unsqueeze", {"x", "second"}, {"column"}),
                NodeBytes("MatMul", {"column", "row"}, {"product"}),
                NodeBytes("Add", {"before", "product"}, {"after"})};
  ModelBytes model;
  model.graph.inputs = {value_info("w0", kFloat, {8, 8}), value_info("xs", kFloat, {"T", 8})};
  model.graph.outputs = {value_info("w", kFloat, {8, 8})};
  model.graph.nodes = {NodeBytes("Scan", {"w0", "xs"}, {"w"})
                           .integer("num_scan_inputs", 1)
                           .graph("body", body.bytes())};
  return model.bytes();
}

// No loop is left, and what it carried is carried all the same. The numbers leave nothing to round.
TEST(Stream, KeepsSumsOfProductsThatStandBehindTheLoop) {
  const Session session = load(sum_of_products());
  EXPECT_THAT(session.ir(true), ::testing::Not(HasSubstr("loop")));
  const std::vector<float> xs{1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5,
                              4, 3, 2, 1, 1, 0, 1, 0, 1, 0, 1, 0};
  const std::vector<float> start(64, 100);
  Stream pieces = session.stream().value_or_throw();
  ASSERT_TRUE(pieces.set("w0", view(start.data(), {8, 8})));
  std::vector<float> last;
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto results = pieces.push({{"xs", view(xs.data() + 8 * i, {1, 8})}});
    ASSERT_TRUE(results) << results.error().text();
    last = floats(results->at("w"));
  }
  const auto whole =
      session.run({{"w0", view(start.data(), {8, 8})}, {"xs", view(xs.data(), {3, 8})}});
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_EQ(floats(whole->at("w")), last);
  EXPECT_EQ(last[1], 100 + 1 * 2 + 8 * 7 + 1 * 0);
}

TEST(Stream, ZerosToStartWithCountAgainstTheBudget) {
  using namespace onnx::test;
  for (const int rows : {1, 1 << 20}) {
    ModelBytes model;
    model.graph.inputs = {value_info("start", kFloat, {rows, 1 << 20}),
                          value_info("x", kFloat, {1})};
    model.graph.outputs = {value_info("last")};
    model.graph.nodes = {NodeBytes("Add", {"start", "x"}, {"last"})};
    SessionOptions options;
    options.states = {{"start", "last"}};
    Stream stream = load(model.bytes(), options).stream().value_or_throw();
    RunOptions run_options;
    run_options.max_memory = 1 << 20;
    const auto results = stream.push({{"x", view(kXs, {1})}}, run_options);
    ASSERT_FALSE(results);
    EXPECT_EQ(results.error().code(), Code::limit_reached);
    EXPECT_THAT(results.error().message(), HasSubstr("'start'"));
  }
}

TEST(Stream, AFailedFirstPushSetsNoState) {
  SessionOptions options;
  options.states = {{"start", "last"}};
  Stream stream = load(sums_of_any_width(), options).stream().value_or_throw();
  RunOptions tiny;
  tiny.max_memory = 1;
  ASSERT_FALSE(stream.push({{"xs", view(kXs, {2, 4})}}, tiny));
  EXPECT_THAT(last_after(stream, 2), ElementsAre(4, 6));
}

TEST(Stream, RefusesWrongStates) {
  Stream stream = streaming().stream().value_or_throw();
  const double wide[] = {1, 2};
  const Expected<void> unknown = stream.set("begin", view(kXs, {2}));
  EXPECT_EQ(unknown.error().code(), Code::not_found);
  EXPECT_EQ(unknown.error().notes().size(), 1U);
  EXPECT_THAT(stream.set("start", view(wide, {2})).error().message(),
              HasSubstr("state 'start' is float, the value is double"));
  EXPECT_FALSE(stream.set("start", view(kXs, {-2})));
  View without_data = view(kXs, {2});
  without_data.data = nullptr;
  EXPECT_THAT(stream.set("start", without_data).error().message(),
              HasSubstr("state 'start' has sizes [2] but no data"));
  // A size that the model cannot take, and what was set before stays.
  EXPECT_THAT(stream.set("start", view(kXs, {3})).error().message(),
              HasSubstr("state 'start' has size 2 on axis 0, the value has sizes [3]"));
  EXPECT_THAT(stream.set("start", view(kXs, {2, 1})).error().message(),
              HasSubstr("state 'start' has rank 1, the value has sizes [2,1]"));
  EXPECT_THAT(last_after(stream, 1), ElementsAre(1, 2));
}

TEST(Stream, StatesMustBeInputsAndOutputs) {
  for (const auto& [state, named] :
       std::vector<std::pair<std::pair<std::string, std::string>, std::string>>{
           {{"begin", "last"}, "'begin'"}, {{"start", "end"}, "'end'"}}) {
    SessionOptions options;
    options.states = {state};
    const auto session = Session::load_bytes(as_bytes(running_sums()), options);
    ASSERT_FALSE(session);
    EXPECT_THAT(session.error().message(), HasSubstr(named));
  }
}

TEST(Stream, ManyStreamsOfOneSessionAtOnce) {
  const Session session = streaming();
  std::vector<std::thread> threads;
  std::vector<float> ends(4);
  for (std::size_t t = 0; t < ends.size(); ++t)
    threads.emplace_back([&, t] {
      Stream stream = session.stream().value_or_throw();
      std::vector<float> last;
      for (int i = 0; i < 100; ++i) last = last_after(stream, static_cast<std::int64_t>(t));
      ends[t] = last[0];
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(ends, ElementsAre(0, 100, 400, 900));
}

}  // namespace
}  // namespace scanloom::test
