#include <scanloom/dtype.h>

#include <gtest/gtest.h>

namespace scanloom {
namespace {

TEST(DTypeTest, NamesAndNumbersRoundTrip) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
    if (const int number = dtype_onnx_number(dtype); number != 0) {
      EXPECT_EQ(dtype_from_onnx_number(number), dtype);
    }
  }
  EXPECT_EQ(dtype_name(DType::boolean), "boolean");
  EXPECT_EQ(dtype_onnx_name(DType::boolean), "bool");
  EXPECT_EQ(dtype_from_onnx_number(1), DType::f32);
}

TEST(DTypeTest, UnknownNamesAndNumbersAreRefused) {
  EXPECT_EQ(dtype_from_name("float"), std::nullopt);
  EXPECT_EQ(dtype_from_onnx_number(0), std::nullopt);
  EXPECT_EQ(dtype_from_onnx_number(-1), std::nullopt);
  EXPECT_EQ(dtype_from_onnx_number(999), std::nullopt);
}

}  // namespace
}  // namespace scanloom
