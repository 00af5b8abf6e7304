#include "runtime/choices.h"

#include <gtest/gtest.h>

#include <array>

#include "plan/binding.h"

namespace scanloom::runtime {
namespace {

/// An operand of one axis over `values`.
struct Numbers {
  explicit Numbers(std::vector<std::int64_t> numbers) : values(std::move(numbers)) {
    size = static_cast<std::int64_t>(values.size());
    bytes = reinterpret_cast<std::byte*>(values.data());
  }
  [[nodiscard]] tensor::Operand operand() {
    tensor::Operand made;
    made.slot = &bytes;
    made.dims = &size;
    made.strides = &step;
    made.rank = 1;
    made.dtype = DType::i64;
    return made;
  }
  std::vector<std::int64_t> values;
  std::int64_t size = 0, step = 1;
  std::byte* bytes = nullptr;
};

ChoiceKey key_of(Numbers& a, Numbers& b, std::uint64_t values_read) {
  const std::array inputs{a.operand(), b.operand()};
  ChoiceKey key;
  EXPECT_TRUE(describe_inputs(inputs, values_read, key));
  return key;
}

Choice choice_of(std::int64_t size) { return {.results = {tensor::Shape{size}}}; }

TEST(ChoiceKeys, HoldValuesOfInputsThatAreReadAlone) {
  Numbers a({1, 2}), b({3, 4}), other({3, 5});
  const std::uint64_t second = plan::value_bit(1);
  EXPECT_EQ(key_of(a, b, 0), key_of(b, a, 0));
  EXPECT_EQ(key_of(a, b, second), key_of(b, b, second));
  EXPECT_NE(key_of(a, b, second), key_of(a, other, second));
  b.step = 2;
  EXPECT_NE(key_of(a, b, 0), key_of(a, other, 0));
}

TEST(ChoiceKeys, InputsFromTheLastBitOnShareIt) {
  EXPECT_EQ(plan::value_bit(63), plan::value_bit(64));
  EXPECT_NE(plan::value_bit(62), plan::value_bit(63));
}

TEST(ChoiceKeys, AreNotMadeOfManyValuesOrOfSpreadOnes) {
  Numbers many(std::vector<std::int64_t>(33, 7)), spread({1, 2});
  spread.step = 2;
  ChoiceKey key;
  std::array inputs{many.operand()};
  EXPECT_TRUE(describe_inputs(inputs, 0, key));
  EXPECT_FALSE(describe_inputs(inputs, plan::value_bit(0), key));
  inputs = {spread.operand()};
  inputs[0].contiguous = false;
  EXPECT_FALSE(describe_inputs(inputs, plan::value_bit(0), key));
}

TEST(Choices, AreFoundAgain) {
  Choices choices;
  std::int64_t left = 10;
  choices.add(nullptr, choice_of(1), left);
  EXPECT_EQ(left, 10);
  const ChoiceKey one{1}, two{2};
  choices.add(&one, choice_of(1), left);
  choices.add(&two, choice_of(2), left);
  EXPECT_EQ(left, 8);
  ASSERT_NE(choices.find(one), nullptr);
  EXPECT_EQ(choices.find(one)->results[0], tensor::Shape{1});
  EXPECT_EQ(choices.find(two)->results[0], tensor::Shape{2});
  EXPECT_EQ(choices.find({3}), nullptr);
  choices.clear(left);
  EXPECT_EQ(left, 10);
  EXPECT_EQ(choices.find(one), nullptr);
}

TEST(Choices, AreBoundedAndTheLatestIsAlwaysThere) {
  Choices choices;
  std::int64_t left = 4096;
  for (std::int64_t size = 0; size < 1000; ++size) {
    const ChoiceKey key{size};
    EXPECT_EQ(choices.add(&key, choice_of(size), left).results[0], tensor::Shape{size});
    ASSERT_NE(choices.find(key), nullptr);
  }
  EXPECT_EQ(left, 4096 - 256);
}

TEST(Choices, OfAllCallsTogetherAreBounded) {
  Choices first, second;
  std::int64_t left = 2;
  const ChoiceKey one{1}, two{2};
  first.add(&one, choice_of(1), left);
  first.add(&two, choice_of(2), left);
  EXPECT_EQ(second.add(&one, choice_of(7), left).results[0], tensor::Shape{7});
  EXPECT_EQ(second.find(one), nullptr);
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace scanloom::runtime
