#include "base/one_line.h"

#include <gtest/gtest.h>

namespace scanloom {
namespace {

TEST(OneLine, ControlCharactersBecomeQuestionMarks) {
  EXPECT_EQ(one_line("a\nb\tc\x7f"), "a?b?c?");
  EXPECT_EQ(one_line(std::string_view("\0\x1b[31m", 6)), "??[31m");
}

TEST(OneLine, SoDoThoseThatTurnTheDirection) {
  EXPECT_EQ(one_line("a\xe2\x80\xae\xe2\x81\xa6z\xc2\x85"), "a??z?");
  EXPECT_EQ(one_line("\xe2\x80\xa8\xe2\x80"), "\xe2\x80\xa8\xe2\x80");
}

TEST(OneLine, OtherCharactersStay) {
  EXPECT_EQ(one_line(""), "");
  EXPECT_EQ(one_line("gru 1, '\xc3\xbc'"), "gru 1, '\xc3\xbc'");
}

}  // namespace
}  // namespace scanloom
