#include "base/one_line.h"

#include <gtest/gtest.h>

namespace scanloom {
namespace {

TEST(OneLine, ControlCharactersBecomeQuestionMarks) {
  EXPECT_EQ(one_line("a\nb\tc\x7f"), "a?b?c?");
  EXPECT_EQ(one_line(std::string_view("\0\x1b[31m", 6)), "??[31m");
}

TEST(OneLine, OtherCharactersStay) {
  EXPECT_EQ(one_line(""), "");
  EXPECT_EQ(one_line("gru 1, '\xc3\xbc'"), "gru 1, '\xc3\xbc'");
}

}  // namespace
}  // namespace scanloom
