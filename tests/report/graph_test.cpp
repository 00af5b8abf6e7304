// The program of a model as data: what each region, node and value says about itself.
#include "report/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/bound.h"

namespace scanloom::report {
namespace {

Json node_of(const Json& graph, const std::string& op) {
  for (const Json& node : graph["nodes"])
    if (node["op"] == op) return node;
  return nullptr;
}

TEST(Graph, RegionsComeOuterFirstAndNameTheirOwner) {
  const Json data = graph(test::module_of(test::sums_text(5)));
  ASSERT_EQ(data["regions"].size(), 2u);
  const Json& top = data["regions"][0];
  const Json& body = data["regions"][1];
  EXPECT_FALSE(top.contains("owner"));
  EXPECT_EQ(body["owner"], node_of(data, "loop")["id"]);
  EXPECT_EQ(body["label"], "body");
  EXPECT_EQ(top["nodes"].size(), 2u);
  EXPECT_EQ(body["nodes"], Json::array({node_of(data, "add")["id"]}));
}

TEST(Graph, PortsJoinWhatIsOutsideAndInsideOfALoop) {
  const Json data = graph(test::module_of(test::sums_text(5)));
  const Json loop = node_of(data, "loop"), add = node_of(data, "add");
  const Json& top = data["regions"][0];
  Json carried, scanned;
  for (const Json& port : loop["ports"]) (port["kind"] == "carried" ? carried : scanned) = port;
  EXPECT_EQ(carried["name"], "state 'sum'");
  EXPECT_EQ(carried["value"], top["args"][0]);
  EXPECT_EQ(carried["inside"], add["in"][0]);
  EXPECT_EQ(carried["next"], add["out"][0]);
  EXPECT_EQ(carried["result"], loop["out"][0]);
  EXPECT_EQ(scanned["kind"], "scanned");
  EXPECT_EQ(scanned["how"], "along axis 0");
  EXPECT_EQ(scanned["inside"], add["in"][1]);
}

TEST(Graph, ValuesHaveTypesAndTheBytesOfKnownSizes) {
  const Json data = graph(test::module_of(
      "module { graph(%0 \"x\": f32[\"T\",3], %1 \"s\": f64[4]) { yield %0 \"y\", %1 \"z\" } }"));
  EXPECT_EQ(data["values"][0]["type"], "f32[T,3]");
  EXPECT_FALSE(data["values"][0].contains("bytes"));
  EXPECT_EQ(data["values"][1]["bytes"], 32);
}

TEST(Graph, AttributesAreTextAndLongOnesShort) {
  const Json data =
      graph(test::module_of("module { graph(%0 \"x\": f32[2,3]) { "
                            "%1 = transpose(%0) {perm = [1, 0]} : f32[3,2] yield %1 \"y\" } }"));
  EXPECT_EQ(node_of(data, "transpose")["attributes"], Json::array({Json::array({"perm", "1, 0"})}));
}

}  // namespace
}  // namespace scanloom::report
