#include "ir/verify.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/op_def.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "tests/ir/read.h"
#include "tests/support/case_file.h"

namespace scanloom::ir {
namespace {

using testing::Case;
using testing::read_cases;

void expect_broken(const Module& module, std::string_view text) {
  const auto result = verify(module);
  ASSERT_FALSE(result) << "expected: " << text;
  EXPECT_EQ(result.error().code(), Code::internal);
  EXPECT_NE(result.error().message().find(text), std::string::npos) << result.error().message();
  print(module);
}

TEST(Verify, AcceptsSoundModules) {
  for (const char* path : {"ir/round_trip.ir", "ir/round_trip_locations.ir"})
    for (const Case& c : read_cases(path)) {
      SCOPED_TRACE(c.name);
      const auto result = verify(read(c.parts[0]));
      EXPECT_TRUE(result) << result.error().message();
    }
}

TEST(Verify, NamesTheBrokenRule) {
  const auto cases = read_cases("ir/invalid.ir");
  ASSERT_FALSE(cases.empty());
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    expect_broken(read(c.parts[0]), c.error);
  }
}

/// A loop in a graph, to be broken.
class VerifyByHand : public ::testing::Test {
 protected:
  Module module = read(R"(module {
    graph(%0 "n": i64[], %1 "x": f32[2]) {
      %2 = neg(%1) : f32[2]
      %3 = loop trip(%0) captured(%2) carried(%1) : f32[2] {
        body(%4: f32[2], %5: f32[2]) {
          %6 = add(%4, %5) : f32[2]
          yield %6
        }
      }
      yield %3 "y"
    } })");
  NodeId neg{0u}, loop{1u};
  RegionId top{0u}, body{1u};
};

TEST_F(VerifyByHand, RegionThatDoesNotExist) {
  module.node(loop).regions[0] = RegionId(9u);
  expect_broken(module, "region 9 of 2 does not exist");
}

TEST_F(VerifyByHand, RegionWithTwoOwners) {
  module.node(loop).regions.push_back(body);
  expect_broken(module, "region 1 belongs to two nodes");
  module.node(loop).regions = {top};
  expect_broken(module, "region 0 belongs to two nodes");
}

TEST_F(VerifyByHand, RegionOfAnotherOwner) {
  module.region(body).owner = neg;
  expect_broken(module, "region 1 names another node as its owner");
  module.region(top).owner = loop;
  expect_broken(module, "the module: region 0 names another node as its owner");
}

TEST_F(VerifyByHand, NothingAtAll) {
  const Module taken = std::move(module);
  const auto result = verify(module);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("the module has no region"), std::string::npos);
  EXPECT_TRUE(verify(taken));
}

TEST_F(VerifyByHand, OperandsOfABranch) {
  Module branch = read(R"(module {
    graph(%0 "c": boolean[], %1 "x": f32[2]) {
      %2 = branch(%0, %1) : f32[2] {
        then(%3: f32[2]) {
          yield %3
        }
        else(%4: f32[2]) {
          yield %4
        }
      }
      yield %2 "y"
    } })");
  Module broken = branch;
  broken.node(NodeId(0u)).inputs[0] = ValueId();
  expect_broken(broken, "operand 0 'condition' of branch is missing");
  broken = branch;
  broken.node(NodeId(0u)).inputs[1] = ValueId();
  expect_broken(broken, "a branch node: operand 1 is absent");
}

TEST_F(VerifyByHand, Arguments) {
  Module broken = module;
  broken.region(body).args[0] = ValueId(99u);
  expect_broken(broken, "a body of a loop node: argument 0 does not exist");
  broken = module;
  broken.region(body).args[1] = broken.region(body).args[0];
  expect_broken(broken, "argument 1 appears in two places");
  broken = module;
  std::swap(broken.region(body).args[0], broken.region(body).args[1]);
  expect_broken(broken, "argument 0 does not name its location");
  broken = module;
  broken.value(broken.region(top).args[0]).type.dims = {Dim::from_expr(5)};
  expect_broken(broken, "the graph: argument 0 has a size that does not exist");
  broken.value(broken.region(top).args[0]).type = {DType::f32, false, {Dim(1)}, {}};
  expect_broken(broken, "argument 0 has sizes although its rank is unknown");
  broken.value(broken.region(top).args[0]).type = {static_cast<DType>(200), true, {}, {}};
  expect_broken(broken, "argument 0 has an element type that does not exist");
  broken.value(broken.region(top).args[0]).type = {
      DType::f32, true, {}, std::vector<tensor::Wrap>(9)};
  expect_broken(broken, "argument 0 has too many wraps");
}

TEST_F(VerifyByHand, Nodes) {
  Module broken = module;
  broken.region(top).nodes.push_back(NodeId(50u));
  expect_broken(broken, "the graph: node 50 of 3 does not exist");
  broken = module;
  broken.region(body).nodes.push_back(neg);
  expect_broken(broken, "a neg node: appears in two places");
  broken = module;
  broken.node(neg).op = nullptr;
  expect_broken(broken, "node 0 has no operator");
  broken = module;
  broken.node(neg).location = LocationId(3u);
  expect_broken(broken, "a neg node: location 3 does not exist");
  broken = module;
  broken.node(neg).parent = body;
  expect_broken(broken, "a neg node: names another region as its parent");
}

TEST_F(VerifyByHand, OperandsAndResults) {
  Module broken = module;
  broken.node(neg).inputs[0] = ValueId(70u);
  expect_broken(broken, "a neg node: operand 0 does not exist");
  broken = module;
  broken.node(neg).outputs[0] = ValueId(70u);
  expect_broken(broken, "a neg node: result 0 does not exist");
  broken = module;
  broken.node(neg).outputs.push_back(broken.node(neg).outputs[0]);
  expect_broken(broken, "a neg node: result 1 appears in two places");
  broken = module;
  broken.value(broken.node(neg).outputs[0]).producer = loop;
  expect_broken(broken, "a neg node: result 0 does not name its location");
  broken = module;
  broken.value(broken.node(neg).outputs[0]).type.dims = {Dim(-4)};
  expect_broken(broken, "a neg node: result 0 has a negative size");
  broken = module;
  broken.region(top).yields[0] = ValueId();
  expect_broken(broken, "the graph: yield 0 does not exist");
}

TEST_F(VerifyByHand, ReadBeforeItIsMade) {
  std::swap(module.region(top).nodes[0], module.region(top).nodes[1]);
  expect_broken(module, "a loop node: operand 1 (%2) is read before it is defined");
}

TEST_F(VerifyByHand, ReadThoughNothingMakesIt) {
  module.region(top).nodes.erase(module.region(top).nodes.begin());
  expect_broken(module, "is read before it is defined");
}

TEST_F(VerifyByHand, Attributes) {
  module.node(neg).attrs.emplace_back(1);
  expect_broken(module, "a neg node: neg has 0 attributes, but 1 are given");
  const NodeId constant =
      module.add_node(top, constant_op, {}, {Attr(Tensor())}, {Type::scalar(DType::f32)});
  module.node(neg).attrs.clear();
  expect_broken(module, "a constant node: attribute 'value' is a tensor without storage");
  module.node(constant).attrs[0] = 1.5;
  expect_broken(module, "attribute 'value' of constant must be a tensor, not a float");
}

TEST_F(VerifyByHand, Ports) {
  Module broken = module;
  broken.node(loop).loop.reset();
  expect_broken(broken, "a loop node: is a loop without ports");
  broken.node(neg).loop = LoopPorts();
  expect_broken(broken, "a neg node: has ports but is not a loop");
  broken = module;
  broken.node(loop).loop->captured = 0xffffffffu;
  expect_broken(broken, "a loop node: has 3 operands, its ports need 4294967297");
}

TEST_F(VerifyByHand, OutputNames) {
  module.output_names.clear();
  expect_broken(module, "the module names 0 outputs and yields 1");
  module.output_names = {"y"};
  module.states.push_back({"s", 7, 0, {}});
  expect_broken(module, "state 's' is input 7 of");
}

// Fields overwritten at random: a verdict, never a crash.
TEST_F(VerifyByHand, RandomDamage) {
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    Module broken = module;
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t id = random() % 9 == 8 ? 0xffffffffu : random() % 9;
      Node& node = broken.node(NodeId(std::uint32_t(random() % broken.node_count())));
      Region& region = broken.region(RegionId(std::uint32_t(random() % broken.region_count())));
      Value& value = broken.value(ValueId(std::uint32_t(random() % broken.value_count())));
      switch (random() % 16) {
        case 0:
          node.inputs.push_back(ValueId(id));
          break;
        case 1:
          if (!node.inputs.empty()) node.inputs[0] = ValueId(id);
          break;
        case 2:
          node.outputs.push_back(ValueId(id));
          break;
        case 3:
          node.regions.push_back(RegionId(id));
          break;
        case 4:
          node.parent = RegionId(id);
          break;
        case 5:
          node.location = LocationId(id);
          break;
        case 6:
          node.inputs.clear();
          break;
        case 7:
          region.args.push_back(ValueId(id));
          break;
        case 8:
          region.nodes.push_back(NodeId(id));
          break;
        case 9:
          region.yields.push_back(ValueId(id));
          break;
        case 10:
          region.owner = NodeId(id);
          break;
        case 11:
          value.producer = NodeId(id);
          break;
        case 12:
          value.region = RegionId(id);
          break;
        case 13:
          value.index = id;
          break;
        case 14:
          value.type.dims.push_back(Dim::from_expr(id & 0xffffu));
          break;
        default:
          node.loop = LoopPorts{.has_keep_going = true, .carried = id};
          break;
      }
    }
    (void)verify(broken);
    print(broken, {.locations = true});
  }
}

}  // namespace
}  // namespace scanloom::ir
