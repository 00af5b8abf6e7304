#include "frontends/onnx/graph_facts.h"

#include <gmock/gmock.h>

#include "tests/onnx/reading.h"

namespace scanloom::onnx::test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> texts(const std::vector<NameId>& ids, const NameTable& names) {
  std::vector<std::string> result;
  for (const NameId id : ids) result.emplace_back(id.valid() ? names.text(id) : "");
  return result;
}

TEST(GraphFacts, CapturesGoThroughAllLevelsAndStopWhereTheNameIsMade) {
  GraphBytes inner;
  inner.outputs = {value_info("direct")};
  inner.initialisers = {float_tensor("own", {}, {1})};
  inner.nodes = {NodeBytes("Sum", {"own", "middle", "", "far"}, {"z"})};
  GraphBytes outer;
  outer.inputs = {value_info("formal"), value_info("unread")};
  outer.outputs = {value_info("z2")};
  outer.nodes = {NodeBytes("Sum", {"formal"}, {"middle"}),
                 NodeBytes("If", {"near"}, {"z2"}).graph("then_branch", inner.bytes())};
  ModelBytes model;
  model.graph.nodes = {NodeBytes("Loop", {"m"}, {"y"}).graph("body", outer.bytes())};
  const std::string bytes = model.bytes();
  const auto parsed = parse_model(bytes);
  ASSERT_TRUE(parsed);
  NameTable names;
  const auto facts = gather_facts(*parsed, names);
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->size(), 3u);
  EXPECT_THAT(texts((*facts)[2].captures, names), ElementsAre("middle", "far", "direct"));
  EXPECT_THAT(texts((*facts)[1].captures, names), ElementsAre("near", "far", "direct"));
  EXPECT_THAT(texts((*facts)[0].nodes[0].captures, names), ElementsAre("near", "far", "direct"));
  EXPECT_THAT((*facts)[1].input_is_read, ElementsAre(true, false));
  EXPECT_EQ(parsed->graphs[2].depth, 2u);
}

}  // namespace
}  // namespace scanloom::onnx::test
