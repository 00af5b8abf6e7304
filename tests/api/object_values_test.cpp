// Sequences, optionals and strings as inputs and outputs of a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/api/models.h"

namespace scanloom::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Execution kPlannedAndInterpreted[] = {Execution::automatic, Execution::interpreted};

/// "t": the sequence "s" of f32[N] with "x" at its end; "p": "o", an optional of it; "c": "a" +
/// "b".
std::string passing() {
  using namespace onnx::test;
  const std::string rows = tensor_type(kFloat, {"N"}), texts = tensor_type(kString, {"M"});
  ModelBytes model;
  model.graph.name = "passing";
  model.graph.inputs = {value_info("s", sequence_type(rows)), value_info("x", rows),
                        value_info("o", optional_type(sequence_type(rows))), value_info("a", texts),
                        value_info("b", texts)};
  model.graph.outputs = {value_info("t", sequence_type(rows)),
                         value_info("p", optional_type(sequence_type(rows))),
                         value_info("c", texts)};
  model.graph.nodes = {NodeBytes("SequenceInsert", {"s", "x"}, {"t"}).name("grow"),
                       NodeBytes("Identity", {"o"}, {"p"}),
                       NodeBytes("StringConcat", {"a", "b"}, {"c"})};
  model.opset = 20;
  return model.bytes();
}

struct Fed {
  float one[2] = {1, 2}, two[1] = {3};
  std::vector<std::string> texts = {"a", "", std::string("x\0y", 3)};
  View s = sequence({view(one, {2}), view(two, {1})});
  View x = view(two, {1});
  View o = none();
  View a = strings(texts, {3}), b = strings(texts, {3});

  Expected<Results> run(const Session& session) const {
    return session.run({{"s", s}, {"x", x}, {"o", o}, {"a", a}, {"b", b}});
  }
};

TEST(ObjectValues, TypesAreTold) {
  const Session session = load(passing());
  EXPECT_EQ(session.inputs()[0].kind, ValueKind::sequence);
  EXPECT_EQ(session.inputs()[0].type, "seq(tensor(float))");
  EXPECT_EQ(session.inputs()[2].kind, ValueKind::optional);
  EXPECT_EQ(session.inputs()[2].type, "optional(seq(tensor(float)))");
  EXPECT_EQ(session.inputs()[3].kind, ValueKind::tensor);
  EXPECT_EQ(session.inputs()[3].type, "tensor(string)");
  EXPECT_EQ(session.outputs()[1].type, "optional(seq(tensor(float)))");
}

TEST(ObjectValues, GoInAndComeOut) {
  for (const Execution execution : kPlannedAndInterpreted) {
    const Session session = load(passing(), {.execution = execution});
    std::optional<Results> kept;
    {
      Fed fed;
      auto results = fed.run(session);
      ASSERT_TRUE(results) << results.error().message();
      kept = *std::move(results);
    }
    // Results own what they hold: the feeds are gone.
    const Value& t = kept->at("t");
    EXPECT_EQ(t.kind(), ValueKind::sequence);
    ASSERT_EQ(t.items().size(), 3u);
    EXPECT_THAT(floats(t.items()[0]), ElementsAre(1, 2));
    EXPECT_THAT(floats(t.items()[2]), ElementsAre(3));
    EXPECT_EQ(kept->at("p").kind(), ValueKind::optional);
    EXPECT_THAT(kept->at("p").items(), IsEmpty());
    EXPECT_THAT(kept->at("c").strings(), ElementsAre("aa", "", std::string_view("x\0yx\0y", 6)));
    EXPECT_THROW((void)kept->at("t").strings(), Failure);
    EXPECT_THAT(kept->at("t").try_strings().error().text(), HasSubstr("'t' is a sequence of f32"));
  }
}

TEST(ObjectValues, CanBeFedAgain) {
  const Session session = load(passing());
  Fed fed;
  auto first = fed.run(session);
  ASSERT_TRUE(first) << first.error().message();
  fed.s = first->at("t").view();
  fed.o = first->at("t").view();  // what the optional would hold
  fed.a = first->at("c").view();
  const auto second = fed.run(session);
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(second->at("t").items().size(), 4u);
  ASSERT_EQ(second->at("p").items().size(), 1u);
  EXPECT_EQ(second->at("p").items()[0].items().size(), 3u);
  EXPECT_EQ(second->at("c").strings()[0], "aaa");
}

/// "t": the sequence "s" of f32[2] with the first n rows of "xs" at its end, gathered by a Loop;
/// "all": its items as one tensor.
std::string gathering() {
  using namespace onnx::test;
  const std::string row = tensor_type(kFloat, {2});
  GraphBytes body;
  body.inputs = {value_info("i", kInt64, {}), value_info("go", kBool, {}),
                 value_info("before", sequence_type(row))};
  body.outputs = {value_info("goes_on", kBool, {}), value_info("after", sequence_type(row))};
  body.nodes = {NodeBytes("Identity", {"go"}, {"goes_on"}),
                NodeBytes("Gather", {"xs", "i"}, {"row"}),
                NodeBytes("SequenceInsert", {"before", "row"}, {"after"})};
  ModelBytes model;
  model.graph.name = "gathering";
  model.graph.inputs = {value_info("n", kInt64, {}), value_info("xs", kFloat, {"T", 2}),
                        value_info("s", sequence_type(row))};
  model.graph.outputs = {value_info("t", sequence_type(row)), value_info("all", kFloat, {"R", 2})};
  model.graph.nodes = {
      NodeBytes("Loop", {"n", "", "s"}, {"t"}).graph("body", body.bytes()),
      NodeBytes("ConcatFromSequence", {"t"}, {"all"}).integer("axis", 0).integer("new_axis", 1)};
  return model.bytes();
}

TEST(ObjectValues, OneSessionGathersSequencesInManyThreads) {
  const Session session = load(gathering(), {.threads = 2});
  const float xs[] = {1, 2, 3, 4, 5, 6, 7, 8}, first[] = {-1, 0};
  const View fed = sequence({view(first, {2})});  // by all threads at once
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::int64_t n = (i + static_cast<std::int64_t>(t)) % 5;
        const auto results =
            session.run({{"n", view(&n, {})}, {"xs", view(xs, {4, 2})}, {"s", fed}});
        std::vector<float> expected(first, first + 2);
        expected.insert(expected.end(), xs, xs + 2 * n);
        wrong[t] += !results || floats(results->at("all")) != expected ||
                            results->at("t").items().size() != static_cast<std::size_t>(n + 1)
                        ? 1
                        : 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

TEST(ObjectValues, StridedStringsAreCopied) {
  const Session session = load(passing());
  Fed fed;
  fed.a.strides = {-1};
  fed.a.data = static_cast<const StringRef*>(fed.a.data) + 2;
  const auto results = fed.run(session);
  ASSERT_TRUE(results) << results.error().message();
  EXPECT_THAT(results->at("c").strings(),
              ElementsAre(std::string_view("x\0ya", 4), "", std::string_view("ax\0y", 4)));
}

TEST(ObjectValues, MistakesAreNamed) {
  const Session session = load(passing());
  const auto error = [&](auto change) {
    Fed fed;
    change(fed);
    const auto results = fed.run(session);
    EXPECT_FALSE(results);
    return results ? std::string() : results.error().message();
  };
  const double wrong = 0;
  EXPECT_THAT(error([](Fed& fed) { fed.s = fed.x; }),
              HasSubstr("feed 's' is float, not a sequence of float"));
  EXPECT_THAT(error([](Fed& fed) { fed.x = fed.s; }),
              HasSubstr("input 'x' is float, the feed is a sequence of float"));
  EXPECT_THAT(error([&](Fed& fed) { fed.s.items[1] = view(&wrong, {1}); }),
              HasSubstr("item 1 of feed 's' is double, not float"));
  EXPECT_THAT(error([](Fed& fed) { fed.s.items[1].shape = {1, 1}; }),
              HasSubstr("item 1 of feed 's' has sizes [1,1], the model needs [?]"));
  EXPECT_THAT(error([](Fed& fed) { fed.s.items[0].data = nullptr; }),
              HasSubstr("item 0 of feed 's' has sizes [2] but no data"));
  EXPECT_THAT(error([](Fed& fed) { fed.o.items = {fed.s, fed.s}; }),
              HasSubstr("feed 'o' has 2 items, but an optional holds at most 1"));
  EXPECT_THAT(error([](Fed& fed) { fed.o = fed.x; }),
              HasSubstr("feed 'o' is float, not a sequence of float"));
  EXPECT_THAT(error([](Fed& fed) { fed.a = fed.x; }),
              HasSubstr("input 'a' is string, the feed is float"));
}

/// Adds the items of "a" and of another sequence.
std::string adding_items(const std::string& other) {
  using namespace onnx::test;
  GraphBytes body;
  body.inputs = {value_info("p"), value_info("q")};
  body.outputs = {value_info("r")};
  body.nodes = {NodeBytes("Add", {"p", "q"}, {"r"})};
  const std::string items = sequence_type(tensor_type(kFloat, {"N"}));
  ModelBytes model;
  model.opset = 17;
  model.graph.inputs = {value_info("a", items), value_info(other, items)};
  model.graph.outputs = {value_info("y", items)};
  model.graph.nodes = {
      NodeBytes("SequenceMap", {"a", other}, {"y"}).name("map").graph("body", body.bytes())};
  return model.bytes();
}

TEST(ObjectValues, ErrorsOfASequenceMapTellTheItem) {
  const float x[] = {1, 2, 3};
  for (const Execution execution : kPlannedAndInterpreted)
    for (const bool optimize : {true, false}) {
      const Session session =
          load(adding_items("b"), {.execution = execution, .optimize = optimize});
      const auto results =
          session.run({{"a", sequence({view(x, {2}), view(x, {1}), view(x, {3}), view(x, {1})})},
                       {"b", sequence({view(x, {2}), view(x, {3}), view(x, {2}), view(x, {1})})}});
      ASSERT_FALSE(results);
      EXPECT_THAT(results.error().notes(),
                  ::testing::ElementsAre("in item 2 of node 'map' (SequenceMap-17)"))
          << results.error().message();
    }
}

TEST(ObjectValues, NamesWithBracesAreNoFormats) {
  const float x[] = {1};
  for (const char* const other : {"b{}", "{", "}", "{:20000000}"})
    for (const Execution execution : kPlannedAndInterpreted) {
      const Session session = load(adding_items(other), {.execution = execution});
      const auto results = session.run(
          {{"a", sequence({view(x, {1}), view(x, {1})})}, {other, sequence({view(x, {1})})}});
      ASSERT_FALSE(results);
      EXPECT_EQ(results.error().code(), Code::invalid_argument) << results.error().message();
      EXPECT_THAT(results.error().message(), HasSubstr("node 'map' (SequenceMap-17)"));
      EXPECT_THAT(results.error().message(), HasSubstr("input 0 has 2 items"));
      EXPECT_THAT(results.error().message(), HasSubstr("has 1"));
      EXPECT_LT(results.error().message().size(), 1000u);
    }
}

}  // namespace
}  // namespace scanloom::test
