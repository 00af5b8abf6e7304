#include "frontends/onnx/node_order.h"

#include <gmock/gmock.h>

#include "tests/onnx/reading.h"

namespace scanloom::onnx::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

NodeOrder order_of(const std::vector<NodeBytes>& nodes) {
  ModelBytes model;
  model.graph.nodes = nodes;
  const std::string bytes = model.bytes();
  const auto parsed = parse_model(bytes);
  EXPECT_TRUE(parsed);
  NameTable names;
  return order_nodes(gather_facts(*parsed, names)->front());
}

NodeBytes sum_node(const std::vector<std::string>& inputs, const std::string& output) {
  return NodeBytes("Sum", inputs, {output});
}

TEST(NodeOrder, KeepsAnOrderThatWorks) {
  const NodeOrder order =
      order_of({sum_node({"x"}, "b"), sum_node({"x"}, "a"), sum_node({"a", "b"}, "c")});
  EXPECT_THAT(order.nodes, ElementsAre(0, 1, 2));
  EXPECT_THAT(order.cycle, IsEmpty());
}

TEST(NodeOrder, MovesAsLittleAsPossible) {
  const NodeOrder order = order_of({sum_node({"late"}, "a"), sum_node({"x"}, "b"),
                                    sum_node({"b"}, "late"), sum_node({"x"}, "d")});
  EXPECT_THAT(order.nodes, ElementsAre(1, 2, 0, 3));
}

TEST(NodeOrder, CountsWhatBodiesRead) {
  GraphBytes body;
  body.outputs = {value_info("t")};
  body.nodes = {sum_node({"late"}, "t")};
  const NodeOrder order = order_of(
      {NodeBytes("If", {"c"}, {"y"}).graph("then_branch", body.bytes()), sum_node({"x"}, "late")});
  EXPECT_THAT(order.nodes, ElementsAre(1, 0));
}

TEST(NodeOrder, NamesOneCycleWithoutWhatWaitsForIt) {
  const NodeOrder order =
      order_of({sum_node({"x"}, "first"), sum_node({"c"}, "a"), sum_node({"a"}, "b"),
                sum_node({"b", "first"}, "c"), sum_node({"c"}, "after")});
  EXPECT_THAT(order.nodes, ElementsAre(0));
  EXPECT_THAT(order.cycle, ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace scanloom::onnx::test
