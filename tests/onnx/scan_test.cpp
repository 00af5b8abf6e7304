// Scan 9 and later: axes, directions, captured values, lengths that must agree, zero steps.
#include <gmock/gmock.h>

#include "tests/onnx/reading.h"

namespace scanloom::onnx::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Running sums: state s, rows r; both outputs are the sum so far.
std::string sum_body() {
  return untyped_graph({"s", "r"}, {"t", "t2"},
                       {NodeBytes("Add", {"s", "r"}, {"t"}), NodeBytes("Identity", {"t"}, {"t2"})});
}

/// s f32[2] and x f32[dims] go in, last and rows come out.
ModelBytes scan_model(NodeBytes scan, const std::vector<DimBytes>& dims = {"T", 2}) {
  ModelBytes model;
  model.graph.inputs = {value_info("s", kFloat, {2}), value_info("x", kFloat, dims)};
  model.graph.outputs = {value_info("last"), value_info("rows")};
  model.graph.nodes = {std::move(scan)};
  return model;
}

NodeBytes sum_scan() {
  NodeBytes scan("Scan", {"s", "x"}, {"last", "rows"});
  return scan.name("sum").graph("body", sum_body()).integer("num_scan_inputs", 1);
}

const tensor::Tensor kState = floats({2}, {10, 20});
const tensor::Tensor kRows = floats({3, 2}, {1, 2, 3, 4, 5, 6});

TEST(Scan, CarriesAndStacks) {
  const auto outputs = run(scan_model(sum_scan()), {kState, kRows});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(float_values(outputs[0]), ElementsAre(19, 32));
  EXPECT_EQ(outputs[1].shape(), (tensor::Shape{3, 2}));
  EXPECT_THAT(float_values(outputs[1]), ElementsAre(11, 22, 14, 26, 19, 32));
}

TEST(Scan, DirectionsAndAxesOfInputsAndOutputs) {
  const auto outputs = run(scan_model(sum_scan()
                                          .integers("scan_input_axes", {-1})
                                          .integers("scan_input_directions", {1})
                                          .integers("scan_output_axes", {-1})
                                          .integers("scan_output_directions", {1}),
                                      {2, "T"}),
                           {kState, floats({2, 3}, {1, 3, 5, 2, 4, 6})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(float_values(outputs[0]), ElementsAre(19, 32));
  // Steps run from the last column; the first step's row is stored last on axis 1.
  EXPECT_EQ(outputs[1].shape(), (tensor::Shape{2, 3}));
  EXPECT_THAT(float_values(outputs[1]), ElementsAre(19, 18, 15, 32, 30, 26));
}

TEST(Scan, ZeroStepsKeepTheStates) {
  const auto outputs = run(scan_model(sum_scan()), {kState, floats({0, 2}, {})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(float_values(outputs[0]), ElementsAre(10, 20));
  EXPECT_EQ(outputs[1].shape(), (tensor::Shape{0, 2}));
}

/// Two scan inputs x and z, no state; the body adds them.
ModelBytes two_scans() {
  ModelBytes model;
  model.graph.inputs = {value_info("x", kFloat, {"A", 1}), value_info("ma{}sk", kFloat, {1, "B"})};
  model.graph.outputs = {value_info("rows")};
  NodeBytes scan("Scan", {"x", "ma{}sk"}, {"rows"});
  model.graph.nodes = {
      scan.name("gru")
          .graph("body", untyped_graph({"p", "q"}, {"r"}, {NodeBytes("Add", {"p", "q"}, {"r"})}))
          .integer("num_scan_inputs", 2)
          .integers("scan_input_axes", {0, 1})};
  return model;
}

TEST(Scan, LengthsAreComparedWhenRunning) {
  const auto equal = run(two_scans(), {floats({2, 1}, {1, 2}), floats({1, 2}, {3, 4})});
  ASSERT_EQ(equal.size(), 1u);
  EXPECT_THAT(float_values(equal[0]), ElementsAre(4, 6));
  const Error error = run_error(two_scans(), {floats({2, 1}, {1, 2}), floats({1, 3}, {3, 4, 5})});
  EXPECT_EQ(error.code(), Code::invalid_argument);
  EXPECT_THAT(error.message(), HasSubstr("node 'gru' (Scan-16)"));
  EXPECT_THAT(error.message(), HasSubstr("scan input 1 'ma()sk' has 3 steps on axis 1, "
                                         "scan input 0 'x' has 2"));
}

/// Version 8: s f32[B,2] and x f32[B,T,2] go in, and the length of each sequence.
ModelBytes batched_model(const std::string& lengths) {
  ModelBytes model;
  model.opset = 8;
  model.graph.inputs = {value_info("l", kInt64, {"B"}), value_info("s", kFloat, {"B", 2}),
                        value_info("x", kFloat, {"B", "T", 2})};
  model.graph.outputs = {value_info("last"), value_info("rows")};
  NodeBytes scan("Scan", {lengths, "s", "x"}, {"last", "rows"});
  model.graph.nodes = {scan.name("sum")
                           .graph("body", sum_body())
                           .integer("num_scan_inputs", 1)
                           .integers("directions", {1})};
  return model;
}

TEST(Scan, Version8LoopsOverTheBatchAroundTheSteps) {
  const tensor::Tensor x = floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const std::vector<tensor::Tensor> feeds = {ints({2}, {2, 1}), floats({2, 2}, {0, 10, 20, 30}), x};
  const auto whole = run(batched_model(""), feeds);
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_THAT(float_values(whole[0]), ElementsAre(4, 16, 32, 44));
  EXPECT_EQ(whole[1].shape(), (tensor::Shape{2, 2, 2}));
  EXPECT_THAT(float_values(whole[1]), ElementsAre(3, 14, 4, 16, 27, 38, 32, 44));
  const auto ragged = run(batched_model("l"), feeds);
  ASSERT_EQ(ragged.size(), 2u);
  EXPECT_THAT(float_values(ragged[0]), ElementsAre(4, 16, 25, 36));
  EXPECT_THAT(float_values(ragged[1]), ElementsAre(3, 14, 4, 16, 25, 36, 0, 0));
}

TEST(Scan, StatesKeepTheirSizesInEveryVersion) {
  const std::string grow = untyped_graph(
      {"s", "r"}, {"t", "r"}, {NodeBytes("Concat", {"s", "r"}, {"t"}).integer("axis", 0)});
  for (const int opset : {8, 9}) {
    const bool batched = opset == 8;
    ModelBytes model;
    model.opset = opset;
    model.graph.inputs = {
        batched ? value_info("s", kFloat, {"B", "N"}) : value_info("s", kFloat, {"N"}),
        batched ? value_info("x", kFloat, {"B", "T", "M"}) : value_info("x", kFloat, {"T", "M"})};
    model.graph.outputs = {value_info("last"), value_info("rows")};
    const std::vector<std::string> inputs =
        batched ? std::vector<std::string>{"", "s", "x"} : std::vector<std::string>{"s", "x"};
    model.graph.nodes = {NodeBytes("Scan", inputs, {"last", "rows"})
                             .name("grow")
                             .graph("body", grow)
                             .integer("num_scan_inputs", 1)};
    const Error error = batched ? run_error(model, {floats({1, 1}, {1}), floats({1, 2, 1}, {2, 3})})
                                : run_error(model, {floats({1}, {1}), floats({2, 1}, {2, 3})});
    EXPECT_EQ(error.code(), Code::invalid_argument) << opset;
    EXPECT_THAT(error.message(), HasSubstr("state 's' has sizes [1] before step 0, but the step "
                                           "makes it [2]; its sizes are fixed"))
        << opset;
  }
}

TEST(Scan, RowsOfVersion8HaveTheSizesOfTheInputs) {
  const Reading reading = read(batched_model("l"));
  ASSERT_TRUE(reading.module);
  const ir::Module& module = *reading.module;
  const ir::ValueId x = module.region(module.top()).args[2];
  const ir::ValueId rows = module.region(module.top()).yields[1];
  EXPECT_EQ(module.value(rows).type, module.value(x).type);
}

TEST(Scan, LengthsOfOneNameNeedNoCheck) {
  ModelBytes model = two_scans();
  model.graph.inputs = {value_info("x", kFloat, {"T", 1}), value_info("ma{}sk", kFloat, {1, "T"})};
  const Reading reading = read(model);
  ASSERT_TRUE(reading.module);
  EXPECT_EQ(find_node(*reading.module, "check_equal"), nullptr);
}

TEST(Scan, BodiesReadOuterNamesThroughTwoLevels) {
  // The inner scan reads the main graph's input s and the outer body's value d.
  const std::string inner = untyped_graph(
      {"e"}, {"f"}, {NodeBytes("Mul", {"e", "s"}, {"g"}), NodeBytes("Add", {"g", "d"}, {"f"})});
  const std::string outer = untyped_graph(
      {"r"}, {"o"},
      {NodeBytes("Neg", {"r"}, {"d"}),
       NodeBytes("Scan", {"x"}, {"o"}).graph("body", inner).integer("num_scan_inputs", 1)});
  ModelBytes model;
  model.graph.inputs = {value_info("s", kFloat, {}), value_info("x", kFloat, {"T"})};
  model.graph.outputs = {value_info("y")};
  model.graph.nodes = {
      NodeBytes("Scan", {"x"}, {"y"}).graph("body", outer).integer("num_scan_inputs", 1)};
  const auto outputs = run(model, {floats({}, {10}), floats({2}, {1, 2})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].shape(), (tensor::Shape{2, 2}));
  EXPECT_THAT(float_values(outputs[0]), ElementsAre(9, 19, 8, 18));
}

TEST(Scan, ConstantsEnterBodiesAsConstants) {
  ModelBytes model = scan_model(sum_scan());
  model.graph.inputs.erase(model.graph.inputs.begin());
  model.graph.initialisers = {float_tensor("s", {2}, {10, 20}), float_tensor("k", {2}, {1, 1})};
  NodeBytes scan("Scan", {"s", "x"}, {"last", "rows"});
  model.graph.nodes = {scan.integer("num_scan_inputs", 1)
                           .graph("body", untyped_graph({"a", "r"}, {"t", "r"},
                                                        {NodeBytes("Add", {"a", "k"}, {"u"}),
                                                         NodeBytes("Add", {"u", "r"}, {"t"})}))};
  const Reading reading = read(model);
  ASSERT_TRUE(reading.module);
  EXPECT_EQ(find_node(*reading.module, "loop")->loop->captured, 0u);
  const auto outputs = run(model, {kRows});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(float_values(outputs[0]), ElementsAre(22, 35));
}

TEST(Scan, FormalsMayHideOuterNames) {
  ModelBytes model = scan_model(sum_scan());
  NodeBytes scan("Scan", {"s", "x"}, {"last", "rows"});
  model.graph.nodes = {scan.integer("num_scan_inputs", 1)
                           .graph("body", untyped_graph({"x", "s"}, {"t", "s"},
                                                        {NodeBytes("Add", {"x", "s"}, {"t"})}))};
  const auto outputs = run(model, {kState, kRows});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(float_values(outputs[0]), ElementsAre(19, 32));
}

TEST(Scan, RowsMayBeFormalsCapturedValuesOrConstants) {
  NodeBytes scan("Scan", {"x"}, {"a", "b", "c", "d"});
  GraphBytes graph;
  graph.inputs = {value_info("r")};
  graph.outputs = {value_info("r"), value_info("s"), value_info("k"), value_info("r")};
  graph.initialisers = {float_tensor("k", {1}, {7})};
  ModelBytes model;
  model.graph.inputs = {value_info("s", kFloat, {}), value_info("x", kFloat, {"T", 1})};
  model.graph.outputs = {value_info("a"), value_info("b"), value_info("c"), value_info("d")};
  model.graph.nodes = {scan.integer("num_scan_inputs", 1).graph("body", graph.bytes())};
  const auto outputs = run(model, {floats({}, {5}), floats({2, 1}, {1, 2})});
  ASSERT_EQ(outputs.size(), 4u);
  EXPECT_THAT(float_values(outputs[0]), ElementsAre(1, 2));
  EXPECT_THAT(float_values(outputs[1]), ElementsAre(5, 5));
  EXPECT_THAT(float_values(outputs[2]), ElementsAre(7, 7));
  EXPECT_THAT(float_values(outputs[3]), ElementsAre(1, 2));
}

TEST(Scan, AStateMayBeUnusedAndRowsMayBeMissing) {
  NodeBytes scan("Scan", {"s", "x"}, {"last"});
  ModelBytes model = scan_model(
      scan.integer("num_scan_inputs", 1)
          .graph("body", untyped_graph({"a", "r"}, {"t"}, {NodeBytes("Max", {"a", "r"}, {"t"})})));
  model.graph.outputs = {value_info("last")};
  const auto outputs = run(model, {kState, kRows});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(float_values(outputs[0]), ElementsAre(10, 20));
}

TEST(Scan, EveryVersionFrom9Reads) {
  for (const int opset : {9, 11, 16, 19, 21, 23, 24, 25, 27}) {
    ModelBytes model = scan_model(sum_scan());
    model.opset = opset;
    EXPECT_THAT(run(model, {kState, kRows}).size(), 2u) << opset;
  }
}

TEST(Scan, StringsAreScanned) {
  ModelBytes model;
  model.graph.inputs = {value_info("x", kString, {"T"})};
  model.graph.outputs = {value_info("rows")};
  NodeBytes scan("Scan", {"x"}, {"rows"});
  model.graph.nodes = {scan.integer("num_scan_inputs", 1)
                           .integers("scan_input_directions", {1})
                           .graph("body", untyped_graph({"r"}, {"r"}, {}))};
  const std::string words[] = {"one", "two"};
  const auto outputs = run(model, {*tensor::Tensor::of_strings({2}, words)});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].as<tensor::StringRef>()[0].view(), "two");
}

}  // namespace
}  // namespace scanloom::onnx::test
