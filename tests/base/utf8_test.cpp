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

TEST(Utf8, LongTextsAreCutInTheMiddleBetweenSequences) {
  EXPECT_EQ(shortened("0123456789abcdef", 16), "0123456789abcdef");
  EXPECT_EQ(shortened("0123456789abcdefg", 16), "012345...abcdefg");
  std::string notes;
  for (int i = 0; i < 100; ++i) notes += "\xf0\x9f\x8e\xb5";
  for (std::size_t limit = 16; limit < 32; ++limit) {
    const std::string cut = shortened(notes, limit);
    EXPECT_LE(cut.size(), limit);
    EXPECT_GE(cut.size(), limit - 6);
    EXPECT_EQ(to_valid_utf8(cut), cut);
  }
  EXPECT_EQ(shortened(std::string(100, '\x80'), 16).size(), 10u);
}

}  // namespace
}  // namespace scanloom
