#include "tensor/small_float.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tensor/visit.h"

namespace scanloom::tensor {
namespace {

template <class T>
class SmallFloatTest : public testing::Test {};
using Formats = testing::Types<Half, BFloat16, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F4E2M1>;
TYPED_TEST_SUITE(SmallFloatTest, Formats);

template <class T>
int codes() {
  return 1 << (dtype_file_bits(dtype_of<T>));
}
template <class T>
T of_code(int code) {
  T value;
  value.bits = static_cast<decltype(value.bits)>(code);
  return value;
}

TYPED_TEST(SmallFloatTest, EveryValueReadsBack) {
  for (int code = 0; code < codes<TypeParam>(); ++code) {
    const auto value = of_code<TypeParam>(code);
    const float wide = value.to_float();
    if (wide != wide)
      EXPECT_NE(TypeParam::from(wide).to_float(), TypeParam::from(wide).to_float()) << code;
    else if (std::isfinite(wide))
      EXPECT_EQ(TypeParam::from(wide).bits, value.bits) << code;
    else
      EXPECT_EQ(TypeParam::from(wide, Overflow::special).bits, value.bits) << code;
  }
}

// The nearest value of all, ties to the even code: what rounding means, found by search.
TYPED_TEST(SmallFloatTest, RoundsToNearestEven) {
  std::vector<std::pair<float, int>> finite;
  for (int code = 0; code < codes<TypeParam>() / 2; ++code) {
    const float wide = of_code<TypeParam>(code).to_float();
    if (std::isfinite(wide)) finite.emplace_back(wide, code);
  }
  for (std::size_t i = 0; i + 1 < finite.size(); ++i) {
    const auto [low, low_code] = finite[i];
    const auto [high, high_code] = finite[i + 1];
    ASSERT_LT(low, high);
    const double middle = (double{low} + double{high}) / 2;
    const int even = low_code % 2 == 0 ? low_code : high_code;
    EXPECT_EQ(TypeParam::from(middle).bits, even) << middle;
    EXPECT_EQ(TypeParam::from(std::nextafter(middle, 0.0)).bits, low_code) << middle;
    EXPECT_EQ(TypeParam::from(std::nextafter(middle, 1e300)).bits, high_code) << middle;
    if (low_code != 0) {
      EXPECT_EQ(TypeParam::from(-low).to_float(), -low);
    }
  }
}

TEST(SmallFloatSpecialsTest, OverflowFollowsTheCastRules) {
  EXPECT_EQ(Half::from(65520.0).bits, 0x7c00);
  EXPECT_EQ(Half::from(65519.9).bits, 0x7bff);
  EXPECT_EQ(Half::from(-1e9).bits, 0xfc00);
  EXPECT_EQ(BFloat16::from(3.4e38).bits, 0x7f80);
  EXPECT_EQ(F8E4M3FN::from(1e9).to_float(), 448.0f);
  EXPECT_EQ(F8E4M3FN::from(-INFINITY).to_float(), -448.0f);
  EXPECT_EQ(F8E4M3FN::from(INFINITY, Overflow::special).bits, 0x7f);
  EXPECT_EQ(F8E5M2::from(1e9).to_float(), 57344.0f);
  EXPECT_EQ(F8E5M2::from(1e9, Overflow::special).to_float(), INFINITY);
  EXPECT_EQ(F8E4M3FNUZ::from(1e9).to_float(), 240.0f);
  EXPECT_EQ(F8E4M3FNUZ::from(1e9, Overflow::special).bits, 0x80);
  EXPECT_EQ(F8E5M2FNUZ::from(-0.0).bits, 0);
  EXPECT_EQ(F8E4M3FNUZ::from(NAN).bits, 0x80);
  EXPECT_EQ(F4E2M1::from(100.0).to_float(), 6.0f);
  EXPECT_EQ(F4E2M1::from(-0.0).bits, 8);
  EXPECT_EQ(F4E2M1::from(NAN).bits, 8);  // -0, as the tests of ONNX have it
}

TEST(SmallFloatSpecialsTest, PowersOfTwo) {
  EXPECT_EQ(F8E8M0::from(1.0).bits, 127);
  EXPECT_EQ(F8E8M0::from(1.25).bits, 128);
  EXPECT_EQ(F8E8M0::from(1.25, Overflow::clip, Rounding::down).bits, 127);
  EXPECT_EQ(F8E8M0::from(1.25, Overflow::clip, Rounding::nearest).bits, 127);
  EXPECT_EQ(F8E8M0::from(1.5, Overflow::clip, Rounding::nearest).bits, 128);
  EXPECT_EQ(F8E8M0::from(0.0).bits, 0);
  EXPECT_EQ(F8E8M0::from(NAN).bits, 0xff);
  EXPECT_EQ(F8E8M0::from(INFINITY).bits, 254);
  EXPECT_EQ(F8E8M0::from(INFINITY, Overflow::special).bits, 255);
  EXPECT_EQ(F8E8M0::from_bits(0).to_float(), std::ldexp(1.0f, -127));
  for (int code = 0; code < 255; ++code)
    EXPECT_EQ(F8E8M0::from(of_code<F8E8M0>(code).to_float()).bits, code);
}

TEST(SmallFloatSpecialsTest, NormalFloat) {
  for (int code = 0; code < 16; ++code)
    EXPECT_EQ(NormalFloat4::from(NormalFloat4::kValues[code]).bits, code);
  EXPECT_EQ(NormalFloat4::from(9.0).bits, 15);
  EXPECT_EQ(NormalFloat4::from(-9.0).bits, 0);
}

TEST(SmallIntTest, KeepsTheLowBits) {
  EXPECT_EQ(Int4::from(7).to_int(), 7);
  EXPECT_EQ(Int4::from(8).to_int(), -8);
  EXPECT_EQ(Int4::from(-9).to_int(), 7);
  EXPECT_EQ(UInt4::from(-1).to_int(), 15);
  EXPECT_EQ(Int2::from(3).to_int(), -1);
  EXPECT_EQ(UInt6::from(64).to_int(), 0);
  EXPECT_EQ(UInt1::from(3).to_int(), 1);
}

TEST(VisitTest, TypesHaveTheSizesAndNamesOfTheirDTypes) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const bool same = visit_dtype(dtype, [&]<class T>(std::type_identity<T>) {
      return sizeof(T) == dtype_bytes(dtype) && dtype_of<T> == dtype;
    });
    EXPECT_TRUE(same) << dtype_name(dtype);
    const std::size_t bytes =
        visit_bytes(dtype, []<class T>(std::type_identity<T>) { return sizeof(T); });
    EXPECT_EQ(bytes, dtype_bytes(dtype));
  }
}

}  // namespace
}  // namespace scanloom::tensor
