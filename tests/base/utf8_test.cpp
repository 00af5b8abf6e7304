#include "base/utf8.h"

#include <gtest/gtest.h>

namespace scanloom {
namespace {

TEST(Utf8, ValidTextStaysAsItIs) {
  for (const char* text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x8e\xb5"})
    EXPECT_EQ(to_valid_utf8(text), text);
}

TEST(Utf8, EveryInvalidByteBecomesAQuestionMark) {
  EXPECT_EQ(to_valid_utf8("a\xff"
                          "b"),
            "a?b");
  EXPECT_EQ(to_valid_utf8("\xc3"), "?");
  EXPECT_EQ(to_valid_utf8("\xc0\xaf"), "??");            // overlong
  EXPECT_EQ(to_valid_utf8("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(to_valid_utf8("\xf4\x90\x80\x80"), "????");  // beyond U+10FFFF
}

}  // namespace
}  // namespace scanloom
