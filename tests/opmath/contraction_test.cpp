#include "opmath/contraction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanloom::tensor {
namespace {

/// Operands over no data: only sizes and strides matter here.
struct Sized {
  Shape dims, strides;

  explicit Sized(Shape shape) : dims(shape), strides(contiguous_strides(shape)) {}
  Sized(Shape shape, Shape given) : dims(shape), strides(given) {}
  [[nodiscard]] Operand operand() const {
    Operand operand;
    operand.dims = dims.data();
    operand.strides = strides.data();
    operand.rank = dims.rank();
    return operand;
  }
};

std::string describe(const ContractionAxes& axes) {
  std::string text;
  for (const ContractionAxis& axis : axes.view())
    text += fmt::format("{}({},{},{})", axis.size, axis.a, axis.b, axis.out);
  return text;
}

Contraction made(const char* spec, const Sized& a, const Sized& b, const Sized& out) {
  const auto result = contraction_of(spec, a.operand(), b.operand(), out.operand());
  EXPECT_TRUE(result);
  return result.value_or(Contraction());
}

TEST(ContractionTest, MatricesHaveOneAxisOfEachClass) {
  const Contraction c = made("", Sized({2, 3}), Sized({3, 4}), Sized({2, 4}));
  EXPECT_EQ(describe(c.batch), "");
  EXPECT_EQ(describe(c.m), "2(3,0,4)");
  EXPECT_EQ(describe(c.n), "4(0,1,1)");
  EXPECT_EQ(describe(c.k), "3(1,4,0)");
}

TEST(ContractionTest, BatchesOfOneOperandJoinItsRows) {
  const Contraction c = made("", Sized({5, 2, 3}), Sized({3, 4}), Sized({5, 2, 4}));
  EXPECT_EQ(describe(c.batch), "");
  EXPECT_EQ(describe(c.m), "10(3,0,4)");
}

TEST(ContractionTest, BroadcastBatchesBelongToTheOperandThatHasThem) {
  const Contraction c = made("", Sized({7, 1, 2, 3}), Sized({7, 6, 3, 4}), Sized({7, 6, 2, 4}));
  EXPECT_EQ(describe(c.batch), "7(6,72,48)");
  EXPECT_EQ(describe(c.m), "2(3,0,4)");
  EXPECT_EQ(describe(c.n), "6(0,12,8)4(0,1,1)");
}

TEST(ContractionTest, SumsKeepTheOrderOfTheFirstOperand) {
  const Contraction c = made("abk,kba->", Sized({2, 3, 4}), Sized({4, 3, 2}), Sized({}));
  EXPECT_EQ(describe(c.k), "2(12,1,0)3(4,2,0)4(1,6,0)");
}

TEST(ContractionTest, DiagonalsAddTheirStrides) {
  const Contraction c = made("ii,i->i", Sized({3, 3}), Sized({3}), Sized({3}));
  EXPECT_EQ(describe(c.batch), "3(4,1,1)");
}

TEST(ContractionTest, AxesOfOneOperandAloneHaveNoStrideInTheOther) {
  const Contraction c = made("ij,k->", Sized({2, 3}), Sized({4}), Sized({}));
  EXPECT_EQ(describe(c.k), "6(1,0,0)4(0,1,0)");
}

TEST(ContractionTest, StridesThatDoNotFitKeepAxesApart) {
  const Contraction c = made("", Sized({5, 2, 3}, {9, 3, 1}), Sized({3, 4}), Sized({5, 2, 4}));
  EXPECT_EQ(describe(c.m), "5(9,0,8)2(3,0,4)");
}

TEST(ContractionTest, OperandsThatDoNotFitAreRefused) {
  const Sized a({2, 3}), b({4, 2}), out({2, 2});
  EXPECT_FALSE(contraction_of("", a.operand(), b.operand(), out.operand()));
  EXPECT_FALSE(contraction_of("ij,jk->i", a.operand(), a.operand(), out.operand()));
}

TEST(EinsumTest, TooManySummedAxesAreRefused) {
  const auto einsum = parse_einsum("abcdefghijkl,mnopqrstuvwx->", 12, 12);
  ASSERT_FALSE(einsum);
  EXPECT_THAT(einsum.error().text(), testing::HasSubstr("24 axes are summed, more than 16"));
}

TEST(EinsumTest, TooManyLettersAreRefused) {
  const auto einsum = parse_einsum("abcdefghijklmnopq,a->a", 17, 1);
  ASSERT_FALSE(einsum);
  EXPECT_THAT(einsum.error().text(), testing::HasSubstr("has more than 16 letters"));
}

TEST(EinsumTest, TwoEllipsesAreRefused) {
  const auto einsum = parse_einsum("...a...,a->a", 3, 1);
  ASSERT_FALSE(einsum);
  EXPECT_THAT(einsum.error().text(), testing::HasSubstr("two ellipses"));
}

TEST(EinsumTest, TheResultMustKeepTheEllipsis) {
  const auto einsum = parse_einsum("...a,a->a", 2, 1);
  ASSERT_FALSE(einsum);
  EXPECT_THAT(einsum.error().text(), testing::HasSubstr("lacks the ellipsis"));
}

}  // namespace
}  // namespace scanloom::tensor
