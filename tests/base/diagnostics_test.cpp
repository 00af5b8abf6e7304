#include "base/diagnostics.h"

#include <gtest/gtest.h>

#include "base/expected.h"

namespace scanloom {
namespace {

TEST(Diagnostics, WarningsAreNoErrors) {
  Diagnostics diagnostics;
  EXPECT_TRUE(diagnostics.ok());
  diagnostics.warning("an attribute was ignored");
  EXPECT_TRUE(diagnostics.ok());
  ASSERT_EQ(diagnostics.warnings().size(), 1u);
  EXPECT_EQ(diagnostics.warnings()[0], "an attribute was ignored");
}

TEST(Diagnostics, TheFirstErrorTellsOfTheOthers) {
  Diagnostics diagnostics;
  diagnostics.error(Error(Code::invalid_model, "no body"));
  EXPECT_FALSE(diagnostics.ok());
  EXPECT_EQ(diagnostics.first().message(), "no body");
  diagnostics.error(Error(Code::unsupported, "opset 99"));
  diagnostics.error(Error(Code::unsupported, "opset 98"));
  const Error first = diagnostics.first();
  EXPECT_EQ(first.code(), Code::invalid_model);
  EXPECT_EQ(first.text(), "no body");
  ASSERT_EQ(first.notes().size(), 1u);
  EXPECT_NE(first.notes()[0].find("2 more"), std::string::npos);
  EXPECT_EQ(diagnostics.errors().size(), 3u);
  EXPECT_TRUE(diagnostics.errors()[0].notes().empty());
}

TEST(Diagnostics, KeepsABoundedNumberOfBoundedTexts) {
  Diagnostics diagnostics;
  const std::string text(1 << 16, 'x');
  for (int i = 0; i < 1500; ++i) {
    diagnostics.error(fail(Code::invalid_model, "{}", text).note("in the body"));
    diagnostics.warning(text);
  }
  EXPECT_EQ(diagnostics.error_count(), 1500u);
  ASSERT_EQ(diagnostics.errors().size(), 1000u);
  EXPECT_EQ(diagnostics.errors()[0].text().size(), 1u << 14);
  EXPECT_EQ(diagnostics.errors()[0].notes().size(), 1u);
  EXPECT_EQ(diagnostics.errors().back().notes().back(), "further errors are omitted");
  EXPECT_NE(diagnostics.first().message().find("1499 more"), std::string::npos);
  ASSERT_EQ(diagnostics.warnings().size(), 1000u);
  EXPECT_EQ(diagnostics.warnings()[0].size(), 1u << 14);
  EXPECT_EQ(diagnostics.warnings().back(), "further warnings are omitted");
}

TEST(Diagnostics, KeepTakesOnlyErrors) {
  Diagnostics diagnostics;
  Expected<int> good = 3;
  Expected<int> bad = Error(Code::not_found, "no file");
  EXPECT_TRUE(diagnostics.keep(good));
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_EQ(*good, 3);
  EXPECT_FALSE(diagnostics.keep(bad));
  ASSERT_EQ(diagnostics.errors().size(), 1u);
  EXPECT_EQ(diagnostics.errors()[0].code(), Code::not_found);
}

}  // namespace
}  // namespace scanloom
