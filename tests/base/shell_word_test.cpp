#include <scanloom/shell_word.h>

#include <gtest/gtest.h>

namespace scanloom {
namespace {

TEST(ShellWord, PlainWordsStay) {
  EXPECT_EQ(shell_word("x.0=3"), "x.0=3");
  EXPECT_EQ(shell_word("models/a-b_c.onnx"), "models/a-b_c.onnx");
}

TEST(ShellWord, OthersAreQuoted) {
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("$(touch pwn)"), "'$(touch pwn)'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("=x"), "'=x'");
}

TEST(ShellWord, ControlCharactersAreEscaped) {
  EXPECT_EQ(shell_word("a\n1'\\"), "$'a\\0121\\'\\\\'");
  EXPECT_EQ(shell_word("a\xe2\x80\xae"), "$'a\\342\\200\\256'");
}

}  // namespace
}  // namespace scanloom
