#include <scanloom/error.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/expected.h"

namespace scanloom {
namespace {

TEST(Error, CodeTextAndNotes) {
  const Error error = fail(Code::invalid_argument, "axis {} is outside [-{}, {})", 5, 3, 3)
                          .note("axes count from 0");
  EXPECT_EQ(error.code(), Code::invalid_argument);
  EXPECT_EQ(error.text(), "axis 5 is outside [-3, 3)");
  ASSERT_EQ(error.notes().size(), 1u);
  EXPECT_EQ(error.notes()[0], "axes count from 0");
  EXPECT_EQ(error.message(), "axis 5 is outside [-3, 3)\n  note: axes count from 0");
}

TEST(Error, AtPutsTheLocationFirst) {
  EXPECT_EQ(invalid_model("rank {} is not {}", 2, 3).at("node 'gru'").text(),
            "node 'gru': rank 2 is not 3");
  EXPECT_EQ(invalid_model("no body").code(), Code::invalid_model);
}

TEST(Error, CopiesAreTheirOwn) {
  const Error original(Code::internal, "first");
  Error copy = original;
  copy.note("only here");
  EXPECT_TRUE(original.notes().empty());
  EXPECT_EQ(copy.notes().size(), 1u);
  copy = original;
  EXPECT_TRUE(copy.notes().empty());
  const Error moved = std::move(copy);
  EXPECT_EQ(moved.text(), "first");
}

TEST(Error, EveryCodeHasItsName) {
#define SCANLOOM_CODE(name, meaning)       \
  EXPECT_EQ(code_name(Code::name), #name); \
  EXPECT_FALSE(std::string(meaning).empty());
#include <scanloom/codes.inc>
#undef SCANLOOM_CODE
  EXPECT_EQ(code_name(static_cast<Code>(250)), "unknown");
}

Expected<int> positive(int value) {
  if (value <= 0) return fail(Code::invalid_argument, "{} is not above {}", value, 0);
  return value;
}
Expected<void> check_positive(int value) {
  SCANLOOM_CHECK_OK(positive(value));
  return {};
}
Expected<int> sum_of_positive(int a, int b) {
  SCANLOOM_TRY(const int first, positive(a));
  SCANLOOM_TRY(const int second, positive(b));
  return first + second;
}

TEST(Expected, TryPassesOnValuesAndTheFirstError) {
  EXPECT_EQ(*sum_of_positive(2, 3), 5);
  const Expected<int> failed = sum_of_positive(-1, -2);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().text(), "-1 is not above 0");
  EXPECT_TRUE(check_positive(1));
  ASSERT_FALSE(check_positive(0));
  EXPECT_EQ(check_positive(0).error().code(), Code::invalid_argument);
}

Expected<int> one_of_two_checks(bool first) {
  int other = 0;
  if (first)
    SCANLOOM_CHECK_OK(positive(1));
  else
    other = 1;
  return other;
}

TEST(Expected, CheckOkIsOneStatement) {
  EXPECT_EQ(*one_of_two_checks(true), 0);
  EXPECT_EQ(*one_of_two_checks(false), 1);
}

TEST(Expected, HoldsWhatCanOnlyBeMoved) {
  Expected<std::unique_ptr<int>> held = std::make_unique<int>(7);
  ASSERT_TRUE(held.has_value());
  const std::unique_ptr<int> taken = *std::move(held);
  EXPECT_EQ(*taken, 7);
}

TEST(Expected, ValueOrThrowOfAnExpectedWithAName) {
  Expected<std::string> held = std::string("kept");
  held.value_or_throw() += " here";
  const Expected<std::string>& same = held;
  EXPECT_EQ(same.value_or_throw(), "kept here");
  EXPECT_EQ(&same.value_or_throw(), &*same);
  Expected<int> failed = positive(-4);
  const Expected<void> checked = check_positive(-4);
  for (int i = 0; i < 2; ++i) {  // the error stays
    EXPECT_THROW((void)failed.value_or_throw(), Failure);
    EXPECT_THROW(checked.value_or_throw(), Failure);
  }
  EXPECT_EQ(failed.error().text(), "-4 is not above 0");
  EXPECT_NO_THROW(Expected<void>().value_or_throw());
}

TEST(Expected, ValueOrThrow) {
  EXPECT_EQ(positive(4).value_or_throw(), 4);
  try {
    (void)positive(-4).value_or_throw();
    FAIL() << "nothing was thrown";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.error().code(), Code::invalid_argument);
    EXPECT_STREQ(failure.what(), "-4 is not above 0");
  }
  EXPECT_NO_THROW(check_positive(1).value_or_throw());
  EXPECT_THROW(check_positive(0).value_or_throw(), Failure);
}

}  // namespace
}  // namespace scanloom
