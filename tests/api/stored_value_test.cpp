// Values in ONNX's serialized form, valid, nested and malformed; and models that are not files.
#include <scanloom/stored_value.h>

#include <gmock/gmock.h>

#include "tests/api/models.h"

namespace scanloom::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ValueInfo info_of(ValueKind kind) {
  ValueInfo info;
  info.kind = kind;
  info.dtype = DType::f64;
  return info;
}

Expected<Value> parse(const std::string& bytes, ValueKind kind) {
  return parse_stored_value(as_bytes(bytes), info_of(kind));
}

/// A field that holds a message of under 128 bytes.
std::string message(int field, const std::string& bytes) {
  return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

/// An int4[3] of -1, 2, -8 in raw data; the elements come before their type.
std::string narrow() { return message(9, "\x2f\x08") + std::string("\x08\x03\x10\x16", 4); }

TEST(StoredValue, ATensorOwnsItsElements) {
  std::string bytes = narrow();
  const auto value = parse(bytes, ValueKind::tensor);
  bytes.assign(bytes.size(), '\xff');
  ASSERT_TRUE(value) << value.error().message();
  EXPECT_EQ(value->dtype(), DType::i4);
  EXPECT_THAT(value->shape(), ElementsAre(3));
  const auto* const elements = static_cast<const std::int8_t*>(value->data());
  EXPECT_THAT(std::vector<int>(elements, elements + 3), ElementsAre(-1, 2, -8));
}

TEST(StoredValue, LargeDataAreCopiedToo) {
  std::string bytes =
      onnx::test::raw_tensor("x", onnx::test::kFloat, {4096}, std::string(16384, 'a'));
  const auto value = parse(bytes, ValueKind::tensor);
  bytes.assign(bytes.size(), '\0');
  ASSERT_TRUE(value) << value.error().message();
  EXPECT_EQ(static_cast<const char*>(value->data())[16383], 'a');
}

TEST(StoredValue, SequencesAndOptionalsNest) {
  const std::string pair = message(3, narrow()) + message(3, narrow());
  const auto sequence = parse(pair, ValueKind::sequence);
  ASSERT_TRUE(sequence) << sequence.error().message();
  EXPECT_EQ(sequence->items().size(), 2U);
  EXPECT_EQ(sequence->dtype(), DType::i4);
  const auto optional = parse(message(5, pair), ValueKind::optional);
  ASSERT_TRUE(optional) << optional.error().message();
  ASSERT_EQ(optional->items().size(), 1U);
  EXPECT_EQ(optional->items()[0].kind(), ValueKind::sequence);
  const auto nothing = parse("", ValueKind::optional);
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->dtype(), DType::f64);
  EXPECT_TRUE(nothing->items().empty());
}

TEST(StoredValue, WhatIsBrokenIsRefused) {
  const std::string cut = narrow().substr(0, 3);
  EXPECT_FALSE(parse(cut, ValueKind::tensor));
  EXPECT_FALSE(parse(message(3, cut), ValueKind::sequence));
  EXPECT_FALSE(parse(std::string("\x18\x01", 2), ValueKind::sequence));  // a number for a tensor
  EXPECT_FALSE(parse("\x48\x01", ValueKind::tensor));
  EXPECT_FALSE(parse(message(4, ""), ValueKind::sequence));
  const auto two = parse(message(3, narrow()) + message(3, narrow()), ValueKind::optional);
  ASSERT_FALSE(two);
  EXPECT_THAT(two.error().message(), HasSubstr("holds 2 values"));
}

TEST(StoredValue, NestingIsLimited) {
  std::string deep;
  for (int level = 0; level < 40; ++level) deep = message(5, deep);
  const auto value = parse(deep, ValueKind::sequence);
  ASSERT_FALSE(value);
  EXPECT_THAT(value.error().message(), HasSubstr("nested more than 16 deep"));
}

TEST(Load, PathsThatNameNoFile) {
  for (const std::string& path : {std::string(), std::string("/\0b", 3)}) {
    const auto session = Session::load(path);
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().code(), Code::not_found);
    const CheckReport report = check(path);
    ASSERT_EQ(report.errors.size(), 1U);
    EXPECT_EQ(report.errors[0].code(), Code::not_found);
  }
  EXPECT_EQ(Session::load_bytes({}).error().code(), Code::invalid_model);
}

TEST(Options, TheMemoryOfTheMachineIsTheBudget) {
  EXPECT_GT(default_max_memory(), std::int64_t{1} << 20);
}

}  // namespace
}  // namespace scanloom::test
