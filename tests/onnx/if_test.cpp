// If: captured values, branches that give outer values, nesting, and the scopes of names.
#include <gmock/gmock.h>

#include "tests/onnx/reading.h"

namespace scanloom::onnx::test {
namespace {

using ::testing::ElementsAre;

std::string branch(const std::vector<std::string>& outputs, const std::vector<NodeBytes>& nodes,
                   const std::vector<std::string>& initialisers = {}) {
  return untyped_graph({}, outputs, nodes, initialisers);
}

NodeBytes if_node(const std::string& then_branch, const std::string& else_branch,
                  const std::string& output = "y") {
  NodeBytes node("If", {"c"}, {output});
  return node.graph("then_branch", then_branch).graph("else_branch", else_branch);
}

ModelBytes if_model(const std::vector<NodeBytes>& nodes) {
  ModelBytes model;
  model.graph.inputs = {value_info("c", kBool, {}), value_info("x", kFloat, {2})};
  model.graph.outputs = {value_info("y")};
  model.graph.nodes = nodes;
  return model;
}

std::vector<float> run_both(const ModelBytes& model) {
  std::vector<float> all;
  for (const bool condition : {true, false}) {
    const auto outputs = run(model, {boolean(condition), floats({2}, {1, -2})});
    if (outputs.size() != 1) return {};
    for (const float value : float_values(outputs[0])) all.push_back(value);
  }
  return all;
}

TEST(If, OneSideRuns) {
  EXPECT_THAT(run_both(if_model({if_node(branch({"t"}, {NodeBytes("Neg", {"x"}, {"t"})}),
                                         branch({"t"}, {NodeBytes("Abs", {"x"}, {"t"})}))})),
              ElementsAre(-1, 2, 1, 2));
}

TEST(If, AConditionOfOneElementCounts) {
  ModelBytes model = if_model({if_node(branch({"t"}, {NodeBytes("Neg", {"x"}, {"t"})}),
                                       branch({"t"}, {NodeBytes("Abs", {"x"}, {"t"})}))});
  model.graph.inputs[0] = value_info("c", kBool, {1, 1});
  tensor::Tensor yes = *tensor::Tensor::zeros(DType::boolean, {1, 1});
  *static_cast<bool*>(yes.mutable_data()) = true;
  const auto outputs = run(model, {yes, floats({2}, {1, -2})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(float_values(outputs[0]), ElementsAre(-1, 2));
}

TEST(If, BranchesMayGiveOuterValuesAndConstants) {
  EXPECT_THAT(run_both(if_model({if_node(branch({"x"}, {}),
                                         branch({"k"}, {}, {float_tensor("k", {2}, {3, 4})}))})),
              ElementsAre(1, -2, 3, 4));
}

TEST(If, SidesMayHaveOtherShapes) {
  const ModelBytes model =
      if_model({if_node(branch({"x"}, {}), branch({"k"}, {}, {float_tensor("k", {}, {3})}))});
  EXPECT_THAT(run_both(model), ElementsAre(1, -2, 3));
}

TEST(If, BothSidesGetWhatEitherReads) {
  const ModelBytes model =
      if_model({NodeBytes("Neg", {"x"}, {"a"}), NodeBytes("Abs", {"x"}, {"b"}),
                if_node(branch({"t"}, {NodeBytes("Add", {"a", "x"}, {"t"})}),
                        branch({"e"}, {NodeBytes("Add", {"b", "x"}, {"e"})}))});
  EXPECT_THAT(run_both(model), ElementsAre(0, 0, 2, 0));
  const Reading reading = read(model);
  EXPECT_EQ(find_node(*reading.module, "branch")->inputs.size(), 4u);
}

TEST(If, BodiesMayReuseTheNamesOfTheNodesOwnOutputs) {
  EXPECT_THAT(run_both(if_model({if_node(branch({"y"}, {NodeBytes("Neg", {"x"}, {"y"})}),
                                         branch({"y"}, {NodeBytes("Abs", {"x"}, {"y"})}))})),
              ElementsAre(-1, 2, 1, 2));
}

TEST(If, AnInitialiserHidesWhatTheOtherSideReads) {
  EXPECT_THAT(run_both(if_model({NodeBytes("Neg", {"x"}, {"a"}),
                                 if_node(branch({"t"}, {NodeBytes("Add", {"a", "a"}, {"t"})}),
                                         branch({"e"}, {NodeBytes("Add", {"a", "x"}, {"e"})},
                                                {float_tensor("a", {2}, {10, 20})}))})),
              ElementsAre(-2, 4, 11, 18));
}

TEST(If, NodesOutOfOrderAreSorted) {
  EXPECT_THAT(run_both(if_model({if_node(branch({"t"}, {NodeBytes("Add", {"u", "x"}, {"t"}),
                                                        NodeBytes("Neg", {"late"}, {"u"})}),
                                         branch({"late"}, {})),
                                 NodeBytes("Abs", {"x"}, {"late"})})),
              ElementsAre(0, -4, 1, 2));
}

TEST(If, ThousandDeepIsRead) {
  std::string inner = branch({"t"}, {NodeBytes("Neg", {"x"}, {"t"})});
  const std::string other = branch({"e"}, {NodeBytes("Abs", {"x"}, {"e"})});
  for (int depth = 0; depth < 999; ++depth) inner = branch({"t"}, {if_node(inner, other, "t")});
  EXPECT_TRUE(read(if_model({if_node(inner, other)})).module);
}

TEST(If, ConstantsAreSeenThroughScopes) {
  // The axes are known only outside of the branch, and through an Identity.
  ModelBytes model =
      if_model({NodeBytes("Identity", {"axes"}, {"same"}),
                if_node(branch({"t"}, {NodeBytes("Unsqueeze", {"x", "same"}, {"t"})}),
                        branch({"e"}, {NodeBytes("Unsqueeze", {"x", "axes"}, {"e"})}))});
  model.graph.initialisers = {int64_tensor("axes", {1}, {0})};
  EXPECT_THAT(run_both(model), ElementsAre(1, -2, 1, -2));
}

TEST(Functions, AreReadInPlaceWithTheirAttributes) {
  FunctionBytes function{"Power", "own", {"a"}, {"b"}, {"exponent"}, {}, {}};
  function.nodes = {NodeBytes("Constant", {}, {"n"}).reference("value_float", 1, "exponent"),
                    NodeBytes("Pow", {"a", "n"}, {"b"})};
  ModelBytes model;
  model.graph.inputs = {value_info("x", kFloat, {2})};
  model.graph.outputs = {value_info("y")};
  NodeBytes square("Power", {"x"}, {"b"}), cube("Power", {"b"}, {"y"});
  model.graph.nodes = {square.domain("own").real("exponent", 2),
                       cube.domain("own").real("exponent", 3)};
  model.functions = {function.bytes()};
  EXPECT_THAT(float_values(run(model, {floats({2}, {1, 2})})[0]), ElementsAre(1, 64));
}

TEST(Functions, MayLeaveOutInputsAndHoldBodies) {
  FunctionBytes function{"Limit", "own", {"a", "low", "go"}, {"b"}, {}, {}, {}};
  function.nodes = {
      NodeBytes("If", {"go"}, {"b"})
          .graph("then_branch", branch({"t"}, {NodeBytes("Clip", {"a", "low"}, {"t"})}))
          .graph("else_branch", branch({"a"}, {}))};
  for (const bool has_limit : {true, false}) {
    ModelBytes model = if_model({});
    model.graph.initialisers = {float_tensor("zero", {}, {0})};
    NodeBytes call("Limit", {"x", has_limit ? "zero" : "", "c"}, {"y"});
    model.graph.nodes = {call.domain("own")};
    model.functions = {function.bytes()};
    EXPECT_THAT(run_both(model), ElementsAre(1, has_limit ? 0 : -2, 1, -2));
  }
}

/// A chain of calls of a function with a body that has many initialisers or declared values.
ModelBytes calls_of_a_large_body(int calls, bool initialisers) {
  GraphBytes large;
  large.outputs = {value_info("t")};
  large.nodes = {NodeBytes("Neg", {"a"}, {"t"})};
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "k" + std::to_string(i);
    if (initialisers)
      large.initialisers.push_back(raw_tensor(name, kBool, {}, std::string(1, '\1')));
    else
      large.value_infos.push_back(value_info(name, kFloat, {}));
  }
  FunctionBytes function{"Pick", "own", {"a", "go"}, {"b"}, {}, {}, {}};
  function.nodes = {NodeBytes("If", {"go"}, {"b"})
                        .graph("then_branch", large.bytes())
                        .graph("else_branch", branch({"e"}, {NodeBytes("Abs", {"a"}, {"e"})}))};
  ModelBytes model = if_model({});
  model.graph.nodes.clear();
  std::string value = "x";
  for (int i = 0; i < calls; ++i) {
    const std::string next = i + 1 == calls ? "y" : "v" + std::to_string(i);
    NodeBytes call("Pick", {value, "c"}, {next});
    model.graph.nodes.push_back(call.domain("own"));
    value = next;
  }
  model.functions = {function.bytes()};
  return model;
}

TEST(Functions, AllThatTheirBodiesEnterCountsForEachCall) {
  for (const bool initialisers : {true, false}) {
    EXPECT_TRUE(read(calls_of_a_large_body(20, initialisers)).module);
    const auto reading = read(calls_of_a_large_body(2000, initialisers));
    ASSERT_FALSE(reading.module);
    EXPECT_EQ(reading.module.error().code(), Code::limit_reached);
    EXPECT_NE(reading.module.error().message().find("262144 nodes"), std::string::npos);
  }
}

TEST(If, BodiesInsideBodiesOfTheMainGraphHaveNoLimit) {
  GraphBytes large;
  large.outputs = {value_info("t")};
  large.nodes = {NodeBytes("Neg", {"x"}, {"t"})};
  for (int i = 0; i < 300'000; ++i)
    large.value_infos.push_back(value_info("k" + std::to_string(i), kFloat, {}));
  const std::string other = branch({"e"}, {NodeBytes("Abs", {"x"}, {"e"})});
  const std::string inner = branch({"i"}, {if_node(large.bytes(), other, "i")});
  EXPECT_TRUE(read(if_model({if_node(inner, other)})).module);
}

}  // namespace
}  // namespace scanloom::onnx::test
