#include "ir/size_choices.h"

#include <gtest/gtest.h>

#include <limits>

namespace scanloom::ir {
namespace {

using tensor::Dim;
using tensor::DimTable;

TEST(SizeChoices, NumbersAreNotRecorded) {
  DimTable dims;
  SizeChoices choices;
  EXPECT_TRUE(choices.is_positive(dims, {{1, {Dim(3), Dim(4)}}, {-11}}));
  EXPECT_FALSE(choices.is_positive(dims, {{1, {Dim(3), Dim(4)}}, {-12}}));
  EXPECT_TRUE(choices.is_empty());
}

TEST(SizeChoices, UnknownSizesCountAsOne) {
  DimTable dims;
  const Dim n = dims.symbol("n");
  SizeChoices choices;
  EXPECT_FALSE(choices.is_positive(dims, {{2, {n}}, {-2}}));
  EXPECT_TRUE(choices.is_empty());
  EXPECT_FALSE(choices.knows(dims, std::vector{Dim(2), n}));
  EXPECT_TRUE(choices.knows(dims, std::vector{Dim(2)}));
}

TEST(SizeChoices, HoldForSizesThatGiveTheSameAnswers) {
  DimTable dims;
  const Dim n = dims.symbol("n"), m = dims.symbol("m");
  SizeChoices choices;
  choices.expect(n, 4);
  choices.expect(m, 10);
  EXPECT_TRUE(choices.knows(dims, std::vector{dims.add(n, m)}));
  EXPECT_TRUE(choices.is_positive(dims, {{1, {m}}, {-2, {n}}}));            // m > 2 n
  EXPECT_FALSE(choices.is_positive(dims, {{1, {dims.add(n, m)}}, {-20}}));  // n + m <= 20
  EXPECT_TRUE(choices.hold_for(dims, std::vector<std::int64_t>{4, 10}));
  EXPECT_TRUE(choices.hold_for(dims, std::vector<std::int64_t>{5, 15}));
  EXPECT_FALSE(choices.hold_for(dims, std::vector<std::int64_t>{5, 10}));
  EXPECT_FALSE(choices.hold_for(dims, std::vector<std::int64_t>{5, 16}));
}

TEST(SizeChoices, LargeSizesDoNotOverflow) {
  constexpr std::int64_t kLarge = std::numeric_limits<std::int64_t>::max() / 2;
  DimTable dims;
  const Dim n = dims.symbol("n");
  SizeChoices choices;
  choices.expect(n, kLarge);
  EXPECT_TRUE(choices.is_positive(dims, {{3, {n, n}}, {1, {n}}, {-kLarge}}));
  EXPECT_FALSE(choices.is_positive(dims, {{0, {n, n}}, {-1, {n, Dim(0)}}}));
}

}  // namespace
}  // namespace scanloom::ir
