// Functions whose attributes are graphs: bodies and branches that a call passes, forwards, or
// leaves to a default value, and the names that they read.
#include <gmock/gmock.h>

#include "tests/onnx/reading.h"

namespace scanloom::onnx::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kGraph = 5;  // AttributeProto.GRAPH

/// The body of a Loop: v becomes `op`(v, with).
std::string step(const std::string& op, const std::string& with,
                 const std::vector<std::string>& initialisers = {}) {
  return untyped_graph({"i", "go", "v"}, {"go", "w"}, {NodeBytes(op, {"v", with}, {"w"})},
                       initialisers);
}

NodeBytes call(const std::string& function, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs) {
  NodeBytes made(function, inputs, outputs);
  return made.domain("own");
}

/// Repeat(n, a) -> b: a Loop of n steps from a whose body is the attribute `what`.
FunctionBytes repeat_function(std::vector<NodeBytes> before = {}) {
  before.push_back(
      NodeBytes("Loop", {"n", "", "a"}, {"b"}).name("turns").reference("body", kGraph, "what"));
  return {"Repeat", "own", {"n", "a"}, {"b"}, {"what"}, before, {}};
}

/// Feeds: m i64, c bool, x f32[2]; output y. The initialiser k is 10.
ModelBytes model_with_functions(const std::vector<NodeBytes>& nodes,
                                const std::vector<FunctionBytes>& functions) {
  ModelBytes model;
  model.graph.inputs = {value_info("m", kInt64, {}), value_info("c", kBool, {}),
                        value_info("x", kFloat, {2})};
  model.graph.outputs = {value_info("y")};
  model.graph.initialisers = {float_tensor("k", {}, {10})};
  model.graph.nodes = nodes;
  for (const FunctionBytes& function : functions) model.functions.push_back(function.bytes());
  return model;
}

std::vector<float> run_of(const ModelBytes& model, bool condition = true) {
  const auto outputs = run(model, {ints({}, {3}), boolean(condition), floats({2}, {1, -2})});
  return outputs.size() == 1 ? float_values(outputs[0]) : std::vector<float>();
}

Error error_of(const ModelBytes& model) {
  const Reading reading = read(model);
  EXPECT_FALSE(reading.module);
  return reading.module ? fail(Code::internal, "none") : reading.module.error();
}

TEST(FunctionGraphs, EachCallHandsInItsOwnBody) {
  const std::vector<std::string> two = {float_tensor("by", {}, {2})};
  const std::vector<std::string> minus = {float_tensor("by", {}, {-1})};
  EXPECT_THAT(run_of(model_with_functions(
                  {call("Repeat", {"m", "x"}, {"z"}).graph("what", step("Mul", "by", two)),
                   call("Repeat", {"m", "z"}, {"y"}).graph("what", step("Mul", "by", minus))},
                  {repeat_function()})),
              ElementsAre(-8, 16));
}

TEST(FunctionGraphs, BodiesReadNamesOfTheCallerAndNotThoseOfTheFunction) {
  // The function has its own names k, x and v. The body's k and late belong to the caller, and late
  // is made by a node that comes after the call.
  const std::string body =
      untyped_graph({"i", "go", "v"}, {"go", "w"},
                    {NodeBytes("Add", {"v", "k"}, {"s"}), NodeBytes("Add", {"s", "late"}, {"w"})});
  FunctionBytes function =
      repeat_function({NodeBytes("Neg", {"a"}, {"k"}), NodeBytes("Neg", {"k"}, {"x"}),
                       NodeBytes("Neg", {"x"}, {"v"})});
  const ModelBytes model =
      model_with_functions({call("Repeat", {"m", "x"}, {"y"}).graph("what", body),
                            NodeBytes("Identity", {"x"}, {"late"})},
                           {function});
  EXPECT_THAT(run_of(model), ElementsAre(34, 22));
}

TEST(FunctionGraphs, AreHandedOnThroughFunctionsAndBodies) {
  // Outer hands `thing` on as `what`, from within a branch and within a Loop's body.
  FunctionBytes outer{"Outer", "own", {"n", "a", "go"}, {"b"}, {"thing"}, {}, {}};
  const std::string once =
      untyped_graph({"j", "more", "u"}, {"more", "r"},
                    {call("Repeat", {"n", "u"}, {"r"}).reference("what", kGraph, "thing")});
  const std::string twice =
      untyped_graph({}, {"t"},
                    {NodeBytes("Constant", {}, {"two"}).tensor("value", int64_tensor("", {}, {2})),
                     NodeBytes("Loop", {"two", "", "a"}, {"t"}).graph("body", once)});
  outer.nodes = {
      NodeBytes("If", {"go"}, {"b"})
          .graph("then_branch", twice)
          .graph("else_branch", untyped_graph({}, {"e"}, {NodeBytes("Neg", {"a"}, {"e"})}))};
  const ModelBytes model =
      model_with_functions({NodeBytes("Add", {"k", "x"}, {"n"}),  // n is a name of both functions
                            call("Outer", {"m", "x", "c"}, {"y"}).graph("thing", step("Add", "n"))},
                           {repeat_function(), outer});
  EXPECT_THAT(run_of(model), ElementsAre(1 + 6 * 11, -2 + 6 * 8));
  EXPECT_THAT(run_of(model, false), ElementsAre(-1, 2));
}

TEST(FunctionGraphs, BranchesAreHandedInAsWellAsWritten) {
  FunctionBytes function{"Either", "own", {"a", "go"}, {"b"}, {"yes"}, {}, {}};
  // The branches read x: the one the caller's, the other the function's.
  function.nodes = {
      NodeBytes("Neg", {"a"}, {"x"}),
      NodeBytes("If", {"go"}, {"b"})
          .reference("then_branch", kGraph, "yes")
          .graph("else_branch", untyped_graph({}, {"e"}, {NodeBytes("Add", {"x", "x"}, {"e"})}))};
  const ModelBytes model = model_with_functions(
      {call("Either", {"x", "c"}, {"y"})
           .graph("yes", untyped_graph({}, {"t"}, {NodeBytes("Add", {"x", "k"}, {"t"})}))},
      {function});
  EXPECT_THAT(run_of(model), ElementsAre(11, 8));
  EXPECT_THAT(run_of(model, false), ElementsAre(-2, 4));
}

TEST(FunctionGraphs, ABodyOfAFunctionMayTakeWhatItWasGivenItself) {
  // Outer hands Repeat a body of its own, in which Repeat is called with what Outer was given.
  FunctionBytes outer{"Outer", "own", {"n", "a"}, {"b"}, {"thing"}, {}, {}};
  const std::string body =
      untyped_graph({"i", "go", "v"}, {"go", "w"},
                    {NodeBytes("Add", {"v", "k"}, {"s"}),
                     call("Repeat", {"n", "s"}, {"w"}).reference("what", kGraph, "thing")});
  outer.nodes = {NodeBytes("Sub", {"a", "a"}, {"k"}),
                 call("Repeat", {"n", "a"}, {"b"}).graph("what", body)};
  const ModelBytes model =
      model_with_functions({call("Outer", {"m", "x"}, {"y"}).graph("thing", step("Add", "k"))},
                           {repeat_function(), outer});
  EXPECT_THAT(run_of(model), ElementsAre(91, 88));
}

std::string default_graph(const std::string& name, const std::string& bytes) {
  std::string attribute = NodeBytes::attribute(name, kGraph);
  protozero::pbf_writer(attribute).add_message(6, bytes);
  return attribute;
}

TEST(FunctionGraphs, DefaultValuesReadNamesOfTheFunction) {
  FunctionBytes function = repeat_function();
  function.attributes.clear();
  function.nodes.push_back(NodeBytes("Add", {"a", "a"}, {"k"}));  // after the node that needs it
  function.defaults = {default_graph("what", step("Add", "k"))};
  const ModelBytes left_out = model_with_functions({call("Repeat", {"m", "x"}, {"y"})}, {function});
  EXPECT_THAT(run_of(left_out), ElementsAre(7, -14));
  const ModelBytes given = model_with_functions(
      {call("Repeat", {"m", "x"}, {"y"}).graph("what", step("Add", "k"))}, {function});
  EXPECT_THAT(run_of(given), ElementsAre(31, 28));
}

TEST(FunctionGraphs, DefaultValuesTakeOtherAttributesAndAreHandedOn) {
  FunctionBytes outer{"Outer", "own", {"n", "a"}, {"b"}, {}, {}, {}};
  const std::string body =
      untyped_graph({"i", "go", "v"}, {"go", "w"},
                    {call("Repeat", {"n", "v"}, {"w"}).reference("what", kGraph, "inner")});
  outer.nodes = {NodeBytes("Neg", {"a"}, {"k"}),
                 call("Repeat", {"n", "a"}, {"b"}).reference("what", kGraph, "outer")};
  outer.defaults = {default_graph("outer", body), default_graph("inner", step("Add", "k"))};
  const ModelBytes defaults =
      model_with_functions({call("Outer", {"m", "x"}, {"y"})}, {repeat_function(), outer});
  EXPECT_THAT(run_of(defaults), ElementsAre(1 - 9, -2 + 18));
  const ModelBytes mixed =
      model_with_functions({call("Outer", {"m", "x"}, {"y"}).graph("inner", step("Add", "k"))},
                           {repeat_function(), outer});
  EXPECT_THAT(run_of(mixed), ElementsAre(91, 88));
}

TEST(FunctionGraphs, OperatorsHaveTheVersionsOfThePlaceWhereTheyAreWritten) {
  // The function imports version 11, in which Squeeze has its axes as an attribute.
  FunctionBytes function =
      repeat_function({NodeBytes("Unsqueeze", {"a"}, {"row"}).integers("axes", {0}),
                       NodeBytes("Squeeze", {"row"}, {"flat"}).integers("axes", {0})});
  std::string bytes = function.bytes();
  protozero::pbf_writer writer(bytes);
  ModelBytes::add_opset(writer, "", 11, 9);
  const std::string body = untyped_graph({"i", "go", "v"}, {"go", "w"},
                                         {NodeBytes("Unsqueeze", {"v", "axes"}, {"row"}),
                                          NodeBytes("Squeeze", {"row", "axes"}, {"w"})},
                                         {int64_tensor("axes", {1}, {0})});
  ModelBytes model =
      model_with_functions({call("Repeat", {"m", "x"}, {"y"}).graph("what", body)}, {});
  model.functions = {bytes};
  EXPECT_THAT(run_of(model), ElementsAre(1, -2));
}

TEST(FunctionGraphs, ErrorsNameWhatIsMissing) {
  EXPECT_THAT(
      error_of(model_with_functions({call("Repeat", {"m", "x"}, {"y"})}, {repeat_function()}))
          .text(),
      HasSubstr("node 'turns' (Loop-16): attribute 'body' is missing"));
  EXPECT_THAT(error_of(model_with_functions({call("Repeat", {"m", "x"}, {"y"}).integer("what", 1)},
                                            {repeat_function()}))
                  .text(),
              HasSubstr("attribute 'body' is an integer, but a graph is needed"));
  // A name of the function is none of the body's.
  const Error error = error_of(model_with_functions(
      {call("Repeat", {"m", "x"}, {"y"}).graph("what", step("Add", "a"))}, {repeat_function()}));
  EXPECT_THAT(error.text(), HasSubstr("input 1 'a' is not produced by any node"));
}

TEST(FunctionGraphs, HiddenNamesAreThoseOfTheCaller) {
  // k is a value of the main graph and of the function.
  const std::string body =
      untyped_graph({"i", "go", "v"}, {"go", "k"}, {NodeBytes("Add", {"v", "v"}, {"k"})});
  const Error error =
      error_of(model_with_functions({call("Repeat", {"m", "x"}, {"y"}).graph("what", body)},
                                    {repeat_function({NodeBytes("Neg", {"a"}, {"k"})})}));
  EXPECT_THAT(error.text(), HasSubstr("output 'k' has the same name as a value outside"));
  EXPECT_THAT(error.text(), HasSubstr("initialiser 0"));
}

TEST(FunctionGraphs, UnknownOperatorsInDefaultsCountWhereTheyAreUsed) {
  FunctionBytes function = repeat_function();
  function.attributes.clear();
  function.defaults = {default_graph("what", step("Foo", "a"))};
  EXPECT_THAT(
      error_of(model_with_functions({call("Repeat", {"m", "x"}, {"y"})}, {function})).text(),
      HasSubstr("1 operator cannot be read: Foo (1 node)"));
  EXPECT_TRUE(
      read(model_with_functions({call("Repeat", {"m", "x"}, {"y"}).graph("what", step("Add", "k"))},
                                {function}))
          .module);
}

// Each function takes what it is given ten times.
TEST(FunctionGraphs, BodiesThatAreReadAgainAndAgainCount) {
  std::vector<FunctionBytes> functions = {repeat_function()};
  std::string inner = "Repeat";
  for (int level = 0; level < 6; ++level) {
    const std::string name = "Level" + std::to_string(level);
    FunctionBytes function{name, "own", {"n", "v0"}, {"v10"}, {"what"}, {}, {}};
    for (int i = 0; i < 10; ++i)
      function.nodes.push_back(
          call(inner, {"n", "v" + std::to_string(i)}, {"v" + std::to_string(i + 1)})
              .reference("what", kGraph, "what"));
    functions.push_back(function);
    inner = name;
  }
  const auto model_at = [&](int level) {
    return model_with_functions(
        {call("Level" + std::to_string(level), {"m", "x"}, {"y"}).graph("what", step("Add", "k"))},
        functions);
  };
  EXPECT_TRUE(read(model_at(2)).module);
  EXPECT_EQ(error_of(model_at(5)).code(), Code::limit_reached);
}

TEST(FunctionGraphs, DefaultsThatTakeThemselvesEndAtALimit) {
  FunctionBytes function = repeat_function();
  function.attributes.clear();
  const std::string body =
      untyped_graph({"i", "go", "v"}, {"go", "w"},
                    {NodeBytes("Loop", {"n", "", "v"}, {"w"}).reference("body", kGraph, "what")});
  function.defaults = {default_graph("what", body)};
  EXPECT_EQ(error_of(model_with_functions({call("Repeat", {"m", "x"}, {"y"})}, {function})).code(),
            Code::limit_reached);
}

TEST(FunctionGraphs, ListsOfGraphsAreHandedOn) {
  // No operator takes a list, but an unused one is allowed.
  std::string list = NodeBytes::attribute("spare", 10);
  protozero::pbf_writer(list).add_message(11, step("Add", "k"));
  FunctionBytes outer{"Outer", "own", {"n", "a"}, {"b"}, {"what", "spare"}, {}, {}};
  outer.nodes = {call("Repeat", {"n", "a"}, {"b"})
                     .reference("what", kGraph, "what")
                     .reference("spare", 10, "spare")};
  FunctionBytes repeat = repeat_function();
  repeat.attributes.push_back("spare");
  const ModelBytes model = model_with_functions(
      {call("Outer", {"m", "x"}, {"y"}).graph("what", step("Add", "k")).raw_attribute(list)},
      {repeat, outer});
  EXPECT_THAT(run_of(model), ElementsAre(31, 28));
}

}  // namespace
}  // namespace scanloom::onnx::test
