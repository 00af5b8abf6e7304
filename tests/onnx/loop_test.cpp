// Loop: trip counts, conditions, the step number, carried values and stacked rows.
#include <gmock/gmock.h>

#include "tests/onnx/reading.h"

namespace scanloom::onnx::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Doubles v and stacks the step number; goes on while v < limit where the condition counts.
GraphBytes doubling_body() {
  GraphBytes graph;
  graph.inputs = {value_info("i"), value_info("go"), value_info("v")};
  graph.outputs = {value_info("more"), value_info("w"), value_info("i")};
  graph.initialisers = {float_tensor("limit", {}, {100})};
  graph.nodes = {NodeBytes("Add", {"v", "v"}, {"w"}), NodeBytes("Less", {"w", "limit"}, {"more"})};
  return graph;
}

/// Feeds: m i64, c bool, v f32; `inputs` names those that the loop takes.
ModelBytes loop_model(const std::vector<std::string>& inputs,
                      const GraphBytes& body = doubling_body()) {
  ModelBytes model;
  model.graph.inputs = {value_info("m", kInt64, {}), value_info("c", kBool, {}),
                        value_info("v0", kFloat, {})};
  model.graph.outputs = {value_info("last"), value_info("steps")};
  NodeBytes loop("Loop", inputs, {"last", "steps"});
  model.graph.nodes = {loop.name("grow").graph("body", body.bytes())};
  return model;
}

std::vector<tensor::Tensor> feeds(std::int64_t trip_count, bool condition, float value = 1) {
  return {ints({}, {trip_count}), boolean(condition), floats({}, {value})};
}

TEST(Loop, TripCountAlone) {
  // The body's condition is ignored where the node has none.
  const auto outputs = run(loop_model({"m", "", "v0"}), feeds(9, true));
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(float_values(outputs[0]), ElementsAre(512));
  EXPECT_THAT(int_values(outputs[1]), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(Loop, ConditionEndsItWithTheStepThatTurnedItFalse) {
  const auto outputs = run(loop_model({"m", "c", "v0"}), feeds(9, true));
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(float_values(outputs[0]), ElementsAre(128));
  EXPECT_THAT(int_values(outputs[1]), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(Loop, ConditionAlone) {
  const auto outputs = run(loop_model({"", "c", "v0"}), feeds(0, true, 30));
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(float_values(outputs[0]), ElementsAre(120));
}

TEST(Loop, ZeroSteps) {
  for (const auto& fed : {feeds(0, true), feeds(-3, true), feeds(5, false)}) {
    const auto outputs = run(loop_model({"m", "c", "v0"}), fed);
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_THAT(float_values(outputs[0]), ElementsAre(1));
    EXPECT_EQ(outputs[1].shape(), (tensor::Shape{0}));
  }
}

TEST(Loop, AHugeConstantTripCountIsNone) {
  ModelBytes model = loop_model({"big", "c", "v0"});
  model.graph.initialisers = {int64_tensor("big", {}, {std::int64_t{1} << 53})};
  const Reading reading = read(model);
  ASSERT_TRUE(reading.module);
  EXPECT_FALSE(find_node(*reading.module, "loop")->loop->has_trip_count);
}

TEST(Loop, WithoutTripCountAndConditionIsRead) {
  const Reading reading = read(loop_model({"", "", "v0"}));
  ASSERT_TRUE(reading.module);
  EXPECT_TRUE(ir::verify(*reading.module));
}

TEST(Loop, TheConditionFormalIsTrueInEveryStep) {
  for (const char* const condition : {"", "c"}) {
    GraphBytes body = doubling_body();
    body.outputs = {value_info("more"), value_info("w"), value_info("go")};
    const auto outputs = run(loop_model({"m", condition, "v0"}, body), feeds(3, true));
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_EQ(outputs[1].dtype(), DType::boolean);
    EXPECT_THAT(int_values(outputs[1]), ElementsAre(1, 1, 1));
  }
}

TEST(Loop, AConditionThatIsPassedOnNeverEnds) {
  GraphBytes body = doubling_body();
  body.outputs[0] = value_info("again");
  body.nodes.push_back(NodeBytes("Identity", {"go"}, {"again"}));
  const ModelBytes model = loop_model({"m", "c", "v0"}, body);
  const Reading reading = read(model);
  ASSERT_TRUE(reading.module);
  EXPECT_FALSE(find_node(*reading.module, "loop")->loop->has_keep_going);
  EXPECT_THAT(float_values(run(model, feeds(9, true))[0]), ElementsAre(512));
}

TEST(Loop, OneElementCountsAsAScalar) {
  ModelBytes model = loop_model({"m", "c", "v0"});
  model.graph.inputs[0] = value_info("m", kInt64, {1});
  model.graph.inputs[1] = value_info("c", kBool, {1});
  tensor::Tensor yes = *tensor::Tensor::zeros(DType::boolean, {1});
  *static_cast<bool*>(yes.mutable_data()) = true;
  const auto outputs = run(model, {ints({1}, {2}), yes, floats({}, {1})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(float_values(outputs[0]), ElementsAre(4));
  EXPECT_EQ(outputs[1].shape(), (tensor::Shape{2}));
}

TEST(Loop, AFormalWithOneAxisGetsTheStepNumberWithOneAxis) {
  GraphBytes body = doubling_body();
  body.inputs[0] = value_info("i", kInt64, {1});
  const auto outputs = run(loop_model({"m", "", "v0"}, body), feeds(3, true));
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1].shape(), (tensor::Shape{3, 1}));
  EXPECT_THAT(int_values(outputs[1]), ElementsAre(0, 1, 2));
}

TEST(Loop, CarriedValuesMayGrow) {
  GraphBytes body;
  body.inputs = {value_info("i"), value_info("go"), value_info("list")};
  body.outputs = {value_info("go"), value_info("longer")};
  body.nodes = {NodeBytes("Concat", {"list", "list"}, {"longer"}).integer("axis", 0)};
  ModelBytes model = loop_model({"m", "", "list0"}, body);
  model.graph.inputs[2] = value_info("list0", kFloat, {1});
  model.graph.nodes = {NodeBytes("Loop", {"m", "", "list0"}, {"last"}).graph("body", body.bytes())};
  model.graph.outputs = {value_info("last")};
  const auto outputs = run(model, {ints({}, {3}), boolean(true), floats({1}, {4})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].shape(), (tensor::Shape{8}));
}

TEST(Loop, StatesChangeAllAtOnce) {
  GraphBytes body;
  body.inputs = {value_info("i"), value_info("go"), value_info("a"), value_info("b")};
  body.outputs = {value_info("go"), value_info("b"), value_info("a")};
  ModelBytes model = loop_model({"m", "", "v0"});
  model.graph.initialisers = {float_tensor("other", {}, {2})};
  model.graph.nodes = {
      NodeBytes("Loop", {"m", "", "v0", "other"}, {"last", "steps"}).graph("body", body.bytes())};
  const auto outputs = run(model, feeds(3, true));
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(float_values(outputs[0]), ElementsAre(2));
  EXPECT_THAT(float_values(outputs[1]), ElementsAre(1));
}

TEST(Loop, NoCarriedValuesAndNoInputs) {
  GraphBytes body;
  body.inputs = {value_info("i"), value_info("go")};
  body.outputs = {value_info("go"), value_info("i")};
  ModelBytes model;
  model.graph.inputs = {value_info("m", kInt64, {})};
  model.graph.outputs = {value_info("steps")};
  model.graph.nodes = {NodeBytes("Loop", {"m"}, {"steps"}).graph("body", body.bytes())};
  EXPECT_THAT(int_values(run(model, {ints({}, {4})})[0]), ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace scanloom::onnx::test
