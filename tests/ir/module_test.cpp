#include "ir/module.h"

#include <gtest/gtest.h>

#include "tests/ir/local_ops.h"

namespace scanloom::ir {
namespace {

TEST(ModuleTest, KnowsWhoMadeAValue) {
  Module m;
  const ValueId x = m.add_argument(m.top(), Type::scalar(DType::f32), "x");
  const NodeId node =
      m.add_node(m.top(), local::same_op, {x}, {Attr()}, {Type::scalar(DType::f32)});
  EXPECT_FALSE(m.value(x).producer.valid());
  EXPECT_EQ(m.value(m.node(node).outputs[0]).producer, node);
  EXPECT_EQ(m.value(m.node(node).outputs[0]).region, m.top());
  const ValueId second = m.add_output(node, Type::scalar(DType::i64), "second");
  EXPECT_EQ(m.value(second).index, 1u);
  EXPECT_EQ(m.region(m.top()).nodes, std::vector<NodeId>{node});
  const RegionId body = m.add_region(node, "body");
  EXPECT_EQ(m.region(body).owner, node);
}

TEST(ModuleTest, DescribesInTheUsersWords) {
  Module m;
  const ValueId x = m.add_argument(m.top(), Type::scalar(DType::f32), "x");
  const LocationId a = m.add_location({{"node 'a' (Add-14)"}});
  const LocationId b = m.add_location({{"node 'b' (Mul-14)", "node 'a' (Add-14)"}});
  const NodeId named = m.add_node(m.top(), local::same_op, {x}, {Attr()}, {Type()}, a);
  const NodeId unnamed = m.add_node(m.top(), local::same_op, {x}, {Attr()}, {Type()});
  EXPECT_EQ(m.describe(named), "node 'a' (Add-14)");
  EXPECT_EQ(m.describe(unnamed), "a same node");
  EXPECT_EQ(m.describe(x), "'x'");
  EXPECT_EQ(m.describe(m.node(named).outputs[0]), "%1 of node 'a' (Add-14)");
  EXPECT_EQ(m.describe(ValueId{}), "%none");
  EXPECT_EQ(m.describe_result(x), "'x'");
  EXPECT_EQ(m.describe_result(m.node(named).outputs[0]), "the result of node 'a' (Add-14)");
  EXPECT_EQ(m.describe_result(m.node(unnamed).outputs[0]), "the result of same");
  EXPECT_EQ(m.describe_call(named), "node 'a' (Add-14)");
  EXPECT_EQ(m.location(m.merge_locations(a, b)).nodes.size(), 2u);
  EXPECT_EQ(m.merge_locations(a, a), a);
  EXPECT_EQ(m.merge_locations(LocationId{}, b), b);
  EXPECT_EQ(m.merge_locations(a, LocationId{}), a);
}

}  // namespace
}  // namespace scanloom::ir
