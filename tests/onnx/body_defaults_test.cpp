// Inputs of bodies that are also initialisers, as IR versions before 4 required.
#include <gmock/gmock.h>

#include "tests/onnx/reading.h"

namespace scanloom::onnx::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Inputs i, go, w, v, of which w is 2: v + w.
GraphBytes body_with_default() {
  GraphBytes body;
  body.inputs = {value_info("i"), value_info("go"), value_info("w"), value_info("v")};
  body.outputs = {value_info("go"), value_info("next")};
  body.initialisers = {float_tensor("w", {}, {2})};
  body.nodes = {NodeBytes("Add", {"v", "w"}, {"next"})};
  return body;
}

ModelBytes turns_model(const GraphBytes& body, const std::vector<std::string>& inputs) {
  ModelBytes model;
  model.graph.inputs = {value_info("m", kInt64, {}), value_info("x", kFloat, {2})};
  model.graph.outputs = {value_info("y")};
  std::vector<std::string> outputs = {"y"};
  for (std::size_t i = 3; i < inputs.size(); ++i) outputs.push_back("more" + std::to_string(i));
  model.graph.nodes = {
      NodeBytes("Loop", inputs, outputs).name("turns").graph("body", body.bytes())};
  return model;
}

TEST(BodyDefaults, WarnFromTheVersionOnInWhichTheyNeedNotBe) {
  for (const std::int64_t version : {3, 4, 8, 13}) {
    ModelBytes model = turns_model(body_with_default(), {"m", "", "x"});
    model.ir_version = version;
    EXPECT_THAT(float_values(run(model, {ints({}, {3}), floats({2}, {1, -2})})[0]),
                ElementsAre(7, 4));
    const Reading reading = read(model);
    if (version < 4)
      EXPECT_THAT(reading.diagnostics.warnings(), IsEmpty());
    else
      EXPECT_THAT(reading.diagnostics.warnings(),
                  ElementsAre(AllOf(HasSubstr("node 'turns' (Loop-16)"),
                                    HasSubstr("input 2 'w' of the body is an initialiser, too"))));
  }
}

TEST(BodyDefaults, ThatTheNodeFeedsAreAnErrorThatNamesBoth) {
  for (const std::int64_t version : {3, 8}) {
    ModelBytes model = turns_model(body_with_default(), {"m", "", "x", "x"});
    model.ir_version = version;
    const Reading reading = read(model);
    ASSERT_FALSE(reading.module);
    EXPECT_THAT(reading.module.error().text(),
                AllOf(HasSubstr("node 'turns' (Loop-16)"), HasSubstr("3 inputs, but 4 are needed"),
                      HasSubstr("input 2 'w' of the body is an initialiser, too")));
  }
}

TEST(BodyDefaults, OfSeveralAllAreNamed) {
  GraphBytes body = body_with_default();
  body.inputs.push_back(value_info("b"));
  std::string sparse;
  protozero::pbf_writer writer(sparse);
  writer.add_message(1, float_tensor("b", {1}, {5}));
  writer.add_message(2, int64_tensor("", {1}, {1}));
  writer.add_int64(3, 2);
  body.sparse_initialisers = {sparse};
  body.nodes = {NodeBytes("Add", {"v", "w"}, {"s"}), NodeBytes("Add", {"s", "b"}, {"next"})};
  const ModelBytes model = turns_model(body, {"m", "", "x"});
  EXPECT_THAT(float_values(run(model, {ints({}, {3}), floats({2}, {1, -2})})[0]),
              ElementsAre(7, 19));
  EXPECT_THAT(read(model).diagnostics.warnings(),
              ElementsAre(HasSubstr("inputs 2 'w', 4 'b' of the body are initialisers, too")));
}

TEST(BodyDefaults, InBodiesOfFunctionsAreWarnedOfOnce) {
  GraphBytes branch;
  branch.inputs = {value_info("w")};
  branch.outputs = {value_info("t")};
  branch.initialisers = {float_tensor("w", {}, {2})};
  branch.nodes = {NodeBytes("Mul", {"a", "w"}, {"t"})};
  GraphBytes other;
  other.outputs = {value_info("e")};
  other.nodes = {NodeBytes("Neg", {"a"}, {"e"})};
  FunctionBytes function{"Pick", "own", {"a", "go"}, {"b"}, {}, {}, {}};
  function.nodes = {NodeBytes("If", {"go"}, {"b"})
                        .name("choice")
                        .graph("then_branch", branch.bytes())
                        .graph("else_branch", other.bytes())};
  ModelBytes model;
  model.graph.inputs = {value_info("c", kBool, {}), value_info("x", kFloat, {2})};
  model.graph.outputs = {value_info("y")};
  NodeBytes first("Pick", {"x", "c"}, {"z"}), second("Pick", {"z", "c"}, {"y"});
  model.graph.nodes = {first.domain("own"), second.domain("own")};
  model.functions = {function.bytes()};
  EXPECT_THAT(float_values(run(model, {boolean(true), floats({2}, {1, -2})})[0]),
              ElementsAre(4, -8));
  EXPECT_THAT(read(model).diagnostics.warnings(),
              ElementsAre(HasSubstr("input 0 'w' of the then_branch is an initialiser, too")));
}

}  // namespace
}  // namespace scanloom::onnx::test
