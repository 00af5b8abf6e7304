// Feeds that give two sizes to one name of the model.
#include <scanloom/session.h>

#include <gmock/gmock.h>

#include "tests/api/models.h"

namespace scanloom::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// "z": x and then y, which the model says are equally long.
std::string joined() {
  using namespace onnx::test;
  ModelBytes model;
  model.graph.name = "joined";
  model.graph.inputs = {value_info("x", kFloat, {"N"}), value_info("y", kFloat, {"N"})};
  model.graph.outputs = {value_info("z", kFloat, {"M"})};
  model.graph.nodes = {NodeBytes("Concat", {"x", "y"}, {"z"}).integer("axis", 0)};
  return model.bytes();
}

class SharedSizes : public ::testing::TestWithParam<Execution> {};

TEST_P(SharedSizes, AreAWarning) {
  SessionOptions options;
  options.execution = GetParam();
  std::vector<std::string> heard;
  options.on_warning = [&](std::string_view text) { heard.emplace_back(text); };
  const Session session = load(joined(), options);
  for (const std::int64_t count : {2, 3, 1}) {
    const auto results = session.run({{"x", view(kXs, {2})}, {"y", view(kXs + 2, {count})}});
    ASSERT_TRUE(results) << results.error().message();
    const std::vector<float> z = floats(results->at("z"));
    EXPECT_EQ(z, std::vector<float>(kXs, kXs + 2 + count));
  }
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_THAT(heard[0], HasSubstr("'N'"));
  EXPECT_EQ(session.warnings(), heard);
}

TEST_P(SharedSizes, AreRefusedByStrictSessions) {
  SessionOptions options;
  options.execution = GetParam();
  options.strict = true;
  const Session session = load(joined(), options);
  EXPECT_TRUE(session.run({{"x", view(kXs, {2})}, {"y", view(kXs, {2})}}));
  const auto results = session.run({{"x", view(kXs, {2})}, {"y", view(kXs, {3})}});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code(), Code::invalid_argument);
  EXPECT_THAT(results.error().message(), HasSubstr("input 'y' has 3 for 'N' on axis 0"));
}

INSTANTIATE_TEST_SUITE_P(Executions, SharedSizes,
                         ::testing::Values(Execution::automatic, Execution::stepped,
                                           Execution::compiled, Execution::interpreted));

}  // namespace
}  // namespace scanloom::test
