// The text form of bodies and the rules of the verifier.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "loopnest/parse.h"
#include "loopnest/print.h"
#include "loopnest/verify.h"
#include "tests/support/case_file.h"

namespace scanloom::loopnest {
namespace {

using scanloom::testing::Case;
using scanloom::testing::read_cases;
using scanloom::testing::test_name;

class RoundTrip : public ::testing::TestWithParam<Case> {};

TEST_P(RoundTrip, TextsComeBack) {
  const std::string& text = GetParam().parts[0];
  const auto source = parse(text);
  ASSERT_TRUE(source) << source.error().message();
  const auto sound = verify(*source);
  EXPECT_TRUE(sound) << sound.error().message();
  EXPECT_EQ(print(*source), text);
  EXPECT_EQ(*parse(print(*source)), *source);
}

INSTANTIATE_TEST_SUITE_P(Bodies, RoundTrip,
                         ::testing::ValuesIn(read_cases("loopnest/round_trip.nest")),
                         [](const auto& info) { return test_name(info.param.name); });

class InvalidBody : public ::testing::TestWithParam<Case> {};

TEST_P(InvalidBody, IsAnError) {
  const auto source = parse(GetParam().parts[0]);
  if (!source) {
    EXPECT_EQ(source.error().code(), Code::invalid_model);
    EXPECT_EQ(source.error().message(), GetParam().error);
    return;
  }
  const auto sound = verify(*source);
  ASSERT_FALSE(sound);
  EXPECT_EQ(sound.error().code(), Code::internal);
  EXPECT_EQ(sound.error().message(), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(Bodies, InvalidBody,
                         ::testing::ValuesIn(read_cases("loopnest/invalid.nest")),
                         [](const auto& info) { return test_name(info.param.name); });

/// Blocks in each other, `depth` deep.
std::string nested(int depth) {
  std::string text = "body avx2 {\n";
  for (int i = 0; i < depth; ++i) text += "loop trips 2 {\n";
  for (int i = 0; i <= depth; ++i) text += "}\n";
  return text;
}

TEST(ParseBody, BoundsHowDeepBlocksLie) {
  const auto deepest = parse(nested(kMaxStatementDepth));
  ASSERT_TRUE(deepest) << deepest.error().message();
  EXPECT_TRUE(verify(*deepest));
  const auto deeper = parse(nested(kMaxStatementDepth + 1));
  ASSERT_FALSE(deeper);
  EXPECT_THAT(deeper.error().message(), ::testing::HasSubstr("33 deep, but the limit is 32"));
}

}  // namespace
}  // namespace scanloom::loopnest
