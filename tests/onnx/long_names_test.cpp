// Names and attributes of a file that many calls of functions and bodies use: a module's memory
// must not be their length times their uses.
#include <gmock/gmock.h>

#include "tests/onnx/reading.h"

namespace scanloom::onnx::test {
namespace {

using ::testing::HasSubstr;

const std::string kLong = std::string(50000, 'n') + "ame";

std::size_t text_of(const ir::Module& module) {
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < module.location_count(); ++i)
    for (const std::string& node : module.location(ir::LocationId(i)).nodes) bytes += node.size();
  for (std::uint32_t i = 0; i < module.value_count(); ++i)
    bytes += module.value(ir::ValueId(i)).name.size();
  for (std::uint32_t i = 0; i < module.region_count(); ++i)
    bytes += module.region(ir::RegionId(i)).name.size();
  for (std::uint32_t i = 0; i < module.node_count(); ++i)
    for (const ir::Attr& attr : module.node(ir::NodeId(i)).attrs)
      if (attr.kind() == tensor::AttrKind::text) bytes += attr.text().size();
  return bytes;
}

void expect_little_text(const ModelBytes& model) {
  const std::size_t file = model.bytes().size();
  const Reading reading = read(model);
  ASSERT_TRUE(reading.module) << reading.module.error().message().substr(0, 1000);
  // Copied whole, the names would take tens to hundreds of times as much.
  EXPECT_LT(text_of(*reading.module), 4 * file);
}

/// Calls a function one after the other; x goes in, y comes out.
ModelBytes calls_of(FunctionBytes function, int calls, const NodeBytes& inner) {
  function.nodes = {inner};
  ModelBytes model;
  model.opset = 20;
  model.graph.inputs = {value_info("x", kFloat, {2})};
  model.graph.outputs = {value_info("y")};
  model.functions = {function.bytes()};
  for (int i = 0; i < calls; ++i) {
    NodeBytes call(function.name, {i == 0 ? "x" : "v" + std::to_string(i)},
                   {i + 1 == calls ? "y" : "v" + std::to_string(i + 1)});
    model.graph.nodes.push_back(call.domain("own"));
  }
  return model;
}

TEST(LongNames, OfNodesInFunctions) {
  NodeBytes inner("Abs", {"a"}, {"b"});
  expect_little_text(calls_of({"Own", "own", {"a"}, {"b"}, {}, {}, {}}, 500, inner.name(kLong)));
}

TEST(LongNames, OfValuesInFunctions) {
  const NodeBytes inner("Abs", {"a" + kLong}, {"b" + kLong});
  expect_little_text(
      calls_of({"Own", "own", {"a" + kLong}, {"b" + kLong}, {}, {}, {}}, 500, inner));
}

TEST(LongNames, OfValuesThatBodiesCapture) {
  const auto branch = [](const std::string& output, const NodeBytes& node) {
    GraphBytes graph;
    graph.name = "branch";
    graph.outputs = {value_info(output)};
    graph.nodes = {node};
    return graph.bytes();
  };
  std::string inner = branch("t0", NodeBytes("Abs", {kLong}, {"t0"}));
  for (int i = 1; i < 200; ++i) {
    const std::string t = "t" + std::to_string(i), e = "e" + std::to_string(i);
    inner = branch(t, NodeBytes("If", {"c"}, {t})
                          .graph("then_branch", inner)
                          .graph("else_branch", branch(e, NodeBytes("Neg", {"x"}, {e}))));
  }
  ModelBytes model;
  model.graph.inputs = {value_info("c", kBool, {}), value_info("x", kFloat, {2})};
  model.graph.outputs = {value_info("y")};
  model.graph.nodes = {NodeBytes("Sqrt", {"x"}, {kLong}),
                       NodeBytes("If", {"c"}, {"y"})
                           .graph("then_branch", inner)
                           .graph("else_branch", branch("e", NodeBytes("Neg", {"x"}, {"e"})))};
  expect_little_text(model);
}

TEST(LongNames, OfScanInputsInTheChecksOfLengths) {
  ModelBytes model;
  GraphBytes body;
  std::vector<std::string> inputs;
  for (int i = 0; i < 200; ++i) {
    inputs.push_back(i == 0 ? kLong : "x" + std::to_string(i));
    model.graph.inputs.push_back(
        value_info(inputs.back(), kFloat, {("N" + std::to_string(i)).c_str()}));
    body.inputs.push_back(value_info("r" + std::to_string(i)));
  }
  body.outputs = {value_info("r0")};
  model.graph.outputs = {value_info("y")};
  model.graph.nodes = {
      NodeBytes("Scan", inputs, {"y"}).graph("body", body.bytes()).integer("num_scan_inputs", 200)};
  expect_little_text(model);
}

TEST(LongNames, ShowTheirBeginningAndEnd) {
  ModelBytes model;
  model.graph.inputs = {value_info("x", kFloat, {2}), value_info("z", kFloat, {3})};
  model.graph.outputs = {value_info("y")};
  NodeBytes add("Add", {"x", "z"}, {"y"});
  model.graph.nodes = {add.name("first" + kLong)};
  const Reading reading = read(model);
  ASSERT_FALSE(reading.module);
  const std::string message = reading.module.error().message();
  EXPECT_LT(message.size(), 1000u);
  EXPECT_THAT(message, HasSubstr("node 'firstnnn"));
  EXPECT_THAT(message, HasSubstr("nnname' (Add-14)"));
}

// The names of inputs and outputs are what a program asks for: they stay whole.
TEST(LongNames, OfTheModelsInterfaceAreWhole) {
  ModelBytes model;
  model.graph.inputs = {value_info("x" + kLong, kFloat, {2})};
  model.graph.outputs = {value_info("y" + kLong)};
  model.graph.nodes = {NodeBytes("Abs", {"x" + kLong}, {"y" + kLong})};
  const Reading reading = read(model);
  ASSERT_TRUE(reading.module);
  const ir::Module& module = *reading.module;
  EXPECT_EQ(module.value(module.region(module.top()).args[0]).name, "x" + kLong);
  EXPECT_EQ(module.output_names[0], "y" + kLong);
}

TEST(LongAttributes, OfCalledNodesCountAsSeveral) {
  const FunctionBytes function{"Own", "own", {"a"}, {"b"}, {}, {}, {}};
  NodeBytes inner("Einsum", {"a"}, {"b"});
  // Blanks mean nothing in an equation.
  const std::string equation = "i->i" + std::string(kLong.size(), ' ');
  const ModelBytes few = calls_of(function, 5, inner.text("equation", equation));
  ASSERT_TRUE(read(few).module) << read(few).module.error().message().substr(0, 1000);
  const Reading many = read(calls_of(function, 2000, inner));
  ASSERT_FALSE(many.module);
  EXPECT_EQ(many.module.error().code(), Code::limit_reached);
  EXPECT_THAT(many.module.error().message(), HasSubstr("function calls produce more than"));
}

TEST(LongAttributes, OfTheCallCountWhereTheFunctionRefersToThem) {
  FunctionBytes outer{"Outer", "own", {"a"}, {"b"}, {"e"}, {}, {}};
  std::vector<NodeBytes> nodes;
  for (int i = 0; i < 2000; ++i)
    nodes.push_back(NodeBytes("Einsum", {i == 0 ? "a" : "v" + std::to_string(i)},
                              {i == 1999 ? "b" : "v" + std::to_string(i + 1)})
                        .reference("equation", 3, "e"));
  outer.nodes = nodes;
  ModelBytes model;
  model.graph.inputs = {value_info("x", kFloat, {2})};
  model.graph.outputs = {value_info("y")};
  NodeBytes call("Outer", {"x"}, {"y"});
  model.graph.nodes = {call.domain("own").text("e", "i->i" + std::string(kLong.size(), ' '))};
  model.functions = {outer.bytes()};
  const Reading reading = read(model);
  ASSERT_FALSE(reading.module);
  EXPECT_EQ(reading.module.error().code(), Code::limit_reached);
}

TEST(LongMessages, OfOneMistakeInManyCallsAreBounded) {
  NodeBytes inner("Abs", {"a"}, {"b"});
  for (int i = 0; i < 10; ++i) inner.integer("unknown" + std::to_string(i) + kLong, 1);
  ModelBytes model = calls_of({"Own", "own", {"a"}, {"b"}, {}, {}, {}}, 500, inner);
  const Reading warned = read(model, {.lenient = true, .folder = {}});
  ASSERT_TRUE(warned.module);
  std::size_t bytes = 0;
  for (const std::string& warning : warned.diagnostics.warnings()) bytes += warning.size();
  EXPECT_LE(warned.diagnostics.warnings().size(), 1000u);
  EXPECT_LT(bytes, 20u << 20);
}

}  // namespace
}  // namespace scanloom::onnx::test
