#include "tensor/dim.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace scanloom::tensor {
namespace {

TEST(DimTest, EqualPolynomialsAreEqualDims) {
  DimTable d;
  const Dim t = d.symbol("T"), s = d.symbol("S");
  EXPECT_EQ(d.symbol("T"), t);
  EXPECT_EQ(d.add(2, 3), Dim(5));
  EXPECT_EQ(d.add(t, 0), t);
  EXPECT_EQ(d.mul(t, 1), t);
  EXPECT_EQ(d.mul(t, 0), Dim(0));
  EXPECT_EQ(d.add(t, s), d.add(s, t));
  EXPECT_EQ(d.mul(t, s), d.mul(s, t));
  EXPECT_EQ(d.sub(t, t), Dim(0));
  EXPECT_EQ(d.sub(d.add(t, s), s), t);
  EXPECT_EQ(d.add(t, t), d.mul(2, t));
  EXPECT_EQ(d.mul(d.add(t, 1), d.add(t, -1)), d.sub(d.mul(t, t), 1));
  EXPECT_NE(t, s);
}

TEST(DimTest, DividesExactlyWhatDivides) {
  DimTable d;
  const Dim t = d.symbol("T"), s = d.symbol("S");
  EXPECT_EQ(d.floor_div(d.mul(6, t), 3), d.mul(2, t));
  EXPECT_EQ(d.floor_div(d.add(d.mul(2, t), 1), 2), t);
  EXPECT_EQ(d.floor_div(d.mul(t, s), s), t);
  EXPECT_EQ(d.floor_div(-7, 2), Dim(-4));
  EXPECT_TRUE(d.is_fresh(d.floor_div(t, 0)));
  EXPECT_EQ(d.to_string(d.floor_div(t, 2)), "floor_div(T,2)");
}

TEST(DimTest, MinAndMaxDecideWhereTheSignIsKnown) {
  DimTable d;
  const Dim t = d.symbol("T"), s = d.symbol("S");
  EXPECT_EQ(d.max(0, t), t);
  EXPECT_EQ(d.min(t, d.add(t, 1)), t);
  EXPECT_EQ(d.max(t, d.add(t, s)), d.add(t, s));
  EXPECT_EQ(d.min(s, t), d.min(t, s));
  const Dim unknown = d.fresh();
  EXPECT_NE(d.max(0, unknown), unknown);
}

TEST(DimTest, OverflowBecomesFresh) {
  DimTable d;
  const Dim most = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(d.is_fresh(d.add(most, 1)));
  EXPECT_TRUE(d.is_fresh(d.mul(most, 2)));
  EXPECT_TRUE(d.is_fresh(d.mul(d.mul(most, d.symbol("T")), 2)));
  EXPECT_TRUE(d.is_fresh(d.floor_div(std::numeric_limits<std::int64_t>::min(), -1)));
}

TEST(DimTest, LongExpressionsStayBounded) {
  DimTable d;
  Dim sum = 1;
  for (int i = 0; i < 200; ++i) {
    const Dim symbol = d.symbol("s" + std::to_string(i));
    sum = d.floor_div(d.mul(d.add(sum, symbol), d.add(sum, 3)), 7);
    EXPECT_LE(d.to_string(sum).size(), DimTable::kMaxText);
  }
}

TEST(DimTest, TextReadsBack) {
  DimTable d;
  for (const char* text : {"7", "-3", "T", "?4", "2*T*U-S+1", "floor_div(T,2)+min(S,?0)",
                           "\"batch size\"", "\"a\\\"b\"", "\"a\\x0ab\"", "-T+max(S,U)", "-1"}) {
    const auto dim = d.parse(text);
    ASSERT_TRUE(dim) << text;
    DimTable other;
    const auto again = other.parse(d.to_string(*dim));
    ASSERT_TRUE(again) << d.to_string(*dim);
    EXPECT_EQ(other.to_string(*again), d.to_string(*dim));
  }
  for (const char* text : {"", "+", "T+", "min(T)", "f(T,2)", "T T", "\"T", "\"T\\", "\"T\\x0\"",
                           "9999999999999999999999", "?", "?-1", "--T"})
    EXPECT_FALSE(d.parse(text)) << text;
  EXPECT_FALSE(d.parse(std::string(100000, '(')));
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "min(";
  EXPECT_FALSE(d.parse(deep));
}

TEST(DimTest, NamesStayOneLine) {
  DimTable d;
  const Dim dim = d.symbol("T\nname\x1b");
  EXPECT_EQ(d.to_string(dim), "\"T\\x0aname\\x1b\"");
  EXPECT_EQ(d.parse(d.to_string(dim)), dim);
}

TEST(DimTest, OrderSurvivesOtherNumbering) {
  DimTable a, b;
  const Dim in_a = a.add(a.symbol("Z"), a.symbol("A"));
  const Dim in_b = b.add(b.symbol("A"), b.symbol("Z"));
  EXPECT_EQ(a.to_string(in_a), "A+Z");
  EXPECT_EQ(b.to_string(in_b), "A+Z");
}

TEST(DimTest, EvaluatesLikeTheArithmeticItStandsFor) {
  std::mt19937 random(7);
  DimTable d;
  const Dim symbols[] = {d.symbol("A"), d.symbol("B"), d.symbol("C")};
  const std::int64_t values[] = {5, 0, 13};
  std::vector<std::optional<std::int64_t>> by_entry(3);
  for (std::size_t i = 0; i < 3; ++i) by_entry[symbols[i].expr()] = values[i];
  std::vector<std::pair<Dim, std::int64_t>> pool;
  for (std::size_t i = 0; i < 3; ++i) pool.emplace_back(symbols[i], values[i]);
  for (std::int64_t i = -2; i < 4; ++i) pool.emplace_back(Dim(i), i);
  const std::size_t leaves = pool.size();
  for (int i = 0; i < 400; ++i) {
    const auto [a, x] = pool[random() % pool.size()];
    const auto [b, y] = pool[random() % leaves];
    switch (random() % 6) {
      case 0:
        pool.emplace_back(d.add(a, b), x + y);
        break;
      case 1:
        pool.emplace_back(d.sub(a, b), x - y);
        break;
      case 2:
        pool.emplace_back(d.mul(a, b), x * y);
        break;
      case 3:
        if (y > 0) pool.emplace_back(d.floor_div(a, b), x / y - (x % y < 0 ? 1 : 0));
        break;
      case 4:
        pool.emplace_back(d.min(a, b), std::min(x, y));
        break;
      default:
        pool.emplace_back(d.max(a, b), std::max(x, y));
        break;
    }
    if (std::abs(pool.back().second) > 1000000) pool.pop_back();
  }
  const auto result = d.evaluate(by_entry);
  for (const auto& [dim, value] : pool) {
    if (dim.is_constant()) {
      EXPECT_EQ(dim.value(), value);
    } else if (!d.uses_fresh_from(dim, 0)) {
      EXPECT_EQ(result[dim.expr()], value) << d.to_string(dim);
    }
  }
}

TEST(DimTest, KnowsWhichFreshSymbolsAnExpressionUses) {
  DimTable d;
  const Dim early = d.fresh();
  const std::size_t mark = d.size();
  const Dim late = d.fresh();
  EXPECT_FALSE(d.uses_fresh_from(d.add(early, d.symbol("T")), mark));
  EXPECT_TRUE(d.uses_fresh_from(d.add(late, early), mark));
  EXPECT_FALSE(d.uses_fresh_from(3, 0));
}

}  // namespace
}  // namespace scanloom::tensor
