#include "tensor/tensor.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "tensor/attr.h"
#include "tensor/type.h"

namespace scanloom::tensor {
namespace {

TEST(TensorTest, ZerosAreAlignedAndZero) {
  const auto tensor = Tensor::zeros(DType::f32, {3, 5});
  ASSERT_TRUE(tensor);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->data()) % 64, 0u);
  for (const float value : tensor->as<float>()) EXPECT_EQ(value, 0.0f);
  const auto empty = Tensor::zeros(DType::f64, {0, 7});
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->defined());
  EXPECT_EQ(empty->bytes(), 0u);
}

TEST(TensorTest, ImpossibleSizesAreErrors) {
  const auto negative = Tensor::zeros(DType::f32, {-1});
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().code(), Code::invalid_argument);
  const auto huge = Tensor::zeros(DType::u8, {std::int64_t{1} << 41});
  ASSERT_FALSE(huge);
}

TEST(TensorTest, CopiesShareStorage) {
  const Tensor a = Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{1, 2});
  const Tensor b = a;
  EXPECT_EQ(a.data(), b.data());
  const Tensor c = b.reshaped({2, 1});
  EXPECT_EQ(c.shape(), Shape({2, 1}));
  EXPECT_FALSE(identical(a, c));
  EXPECT_TRUE(identical(a, *Tensor::copy_of(DType::i64, {2}, a.data())));
}

TEST(TensorTest, BytesAtAnyAddressAreAlignedWhenAsked) {
  const std::vector<float> values{1.5f, -2, 3, 0.25f};
  const auto bytes = std::make_shared<std::vector<char>>(values.size() * sizeof(float) + 4);
  std::memcpy(bytes->data() + 1, values.data(), values.size() * sizeof(float));
  const std::weak_ptr<const void> alive = bytes;
  std::shared_ptr<const void> owner;
  {
    const Tensor a = Tensor::at_any_address(DType::f32, {4}, bytes, bytes->data() + 1);
    EXPECT_TRUE(a.defined());
    EXPECT_FALSE(a.is_aligned());
    EXPECT_EQ(a.stored(), bytes->data() + 1);
    const Tensor same = a.reshaped({2, 2});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(same.data()) % alignof(float), 0u);
    EXPECT_EQ(same.data(), a.data());  // one copy for all
    EXPECT_EQ(a.stored(), bytes->data() + 1);
    EXPECT_TRUE(identical(a, Tensor::of<float>({4}, values)));
    EXPECT_EQ(same.as<float>()[3], 0.25f);
    owner = a.owner();
    EXPECT_EQ(std::memcmp(a.data(), values.data(), a.bytes()), 0);
  }
  EXPECT_FALSE(alive.expired());
}

TEST(TensorTest, StringsAreCopiedDeep) {
  Tensor copy;
  {
    const std::vector<std::string> values{"a", "", std::string("x\0y", 3)};
    const auto tensor = Tensor::of_strings({3}, values);
    ASSERT_TRUE(tensor);
    copy = *Tensor::copy_of(DType::string, {3}, tensor->data());
    EXPECT_TRUE(identical(*tensor, copy));
  }
  EXPECT_EQ(copy.as<StringRef>()[0].view(), "a");
  EXPECT_EQ(copy.as<StringRef>()[1].view(), "");
  EXPECT_EQ(copy.as<StringRef>()[2].view(), std::string_view("x\0y", 3));
  EXPECT_FALSE(Tensor::of_strings({2}, std::vector<std::string>{"a"}));
}

TEST(TensorTest, WidensIntegers) {
  const auto bytes = Tensor::of<std::int8_t>({2}, std::vector<std::int8_t>{-1, 5});
  EXPECT_EQ(to_integers(bytes), (std::vector<std::int64_t>{-1, 5}));
  EXPECT_EQ(to_integers(Tensor::scalar(true)), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(to_integers(Tensor::scalar(std::uint16_t{65535})), (std::vector<std::int64_t>{65535}));
  EXPECT_EQ(to_integers(Tensor::scalar(1.0f)), std::nullopt);
}

TEST(AttrTest, ComparesBitwise) {
  EXPECT_EQ(Attr(NAN), Attr(NAN));
  EXPECT_FALSE(Attr(0.0) == Attr(-0.0));
  EXPECT_FALSE(Attr(1) == Attr(1.0));
  EXPECT_EQ(Attr(std::vector<double>{NAN}), Attr(std::vector<double>{NAN}));
  EXPECT_EQ(Attr(Tensor::scalar(2.0f)), Attr(Tensor::scalar(2.0f)));
  EXPECT_FALSE(Attr(Tensor::scalar(2.0f)) == Attr(Tensor::scalar(3.0f)));
  EXPECT_EQ(Attr(), Attr());
  EXPECT_EQ(Attr("x").text(), "x");
  EXPECT_EQ(Attr(DType::u4).dtype(), DType::u4);
}

TEST(TypeTest, PrintsAndKnowsWhetherItIsStatic) {
  DimTable dims;
  const Type type = Type::of(DType::f32, {dims.symbol("T"), 1});
  EXPECT_EQ(to_string(type, dims), "f32[T,1]");
  EXPECT_FALSE(type.is_static());
  EXPECT_EQ(to_string(Type::unranked(DType::i64), dims), "i64[*]");
  Type wrapped = Type::of(DType::f32, Shape{2});
  EXPECT_TRUE(wrapped.is_static());
  EXPECT_EQ(wrapped.shape(), Shape({2}));
  wrapped.wraps = {Wrap::optional, Wrap::sequence};
  EXPECT_EQ(to_string(wrapped, dims), "optional(sequence(f32[2]))");
  EXPECT_FALSE(wrapped.is_static());
}

}  // namespace
}  // namespace scanloom::tensor
