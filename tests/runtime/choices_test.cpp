#include "runtime/choices.h"

#include <gtest/gtest.h>

#include <array>

#include "ir/infer_ctx.h"

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

plan::CallKey key_of(Numbers& a, Numbers& b, plan::DecidingValues deciding) {
  const std::array inputs{a.operand(), b.operand()};
  plan::CallKey key;
  EXPECT_TRUE(plan::describe_inputs(inputs, deciding, key));
  return key;
}

Choice choice_of(std::int64_t size) { return {.results = {tensor::Shape{size}}}; }

TEST(ChoiceKeys, HoldValuesOfInputsThatDecideAlone) {
  Numbers a({1, 2}), b({3, 4}), other({3, 5});
  const std::uint64_t second = ir::value_bit(1);
  EXPECT_EQ(key_of(a, b, 0), key_of(b, a, 0));
  EXPECT_EQ(key_of(a, b, second), key_of(b, b, second));
  EXPECT_NE(key_of(a, b, second), key_of(a, other, second));
  b.step = 2;
  EXPECT_NE(key_of(a, b, 0), key_of(a, other, 0));
}

TEST(ChoiceKeys, InputsFromTheLastBitOnShareIt) {
  EXPECT_EQ(ir::value_bit(63), ir::value_bit(64));
  EXPECT_NE(ir::value_bit(62), ir::value_bit(63));
}

TEST(ChoiceKeys, AreNotMadeOfManyValuesOrOfSpreadOnes) {
  Numbers many(std::vector<std::int64_t>(33, 7)), spread({1, 2});
  spread.step = 2;
  plan::CallKey key;
  std::array inputs{many.operand()};
  EXPECT_TRUE(plan::describe_inputs(inputs, 0, key));
  EXPECT_FALSE(plan::describe_inputs(inputs, ir::value_bit(0), key));
  inputs = {spread.operand()};
  inputs[0].contiguous = false;
  EXPECT_FALSE(plan::describe_inputs(inputs, ir::value_bit(0), key));
}

TEST(Choices, AreFoundAgain) {
  Choices choices;
  EXPECT_EQ(choices.find({1}), nullptr);
  choices.add(nullptr, choice_of(1), 8);
  const plan::CallKey one{1}, two{2};
  choices.add(&one, choice_of(1), 8);
  choices.add(&two, choice_of(2), 8);
  ASSERT_NE(choices.find(one), nullptr);
  EXPECT_EQ(choices.find(one)->results[0], tensor::Shape{1});
  ASSERT_NE(choices.find(two), nullptr);
  EXPECT_EQ(choices.find(two)->results[0], tensor::Shape{2});
  EXPECT_EQ(choices.find({3}), nullptr);
  choices.clear();
  EXPECT_EQ(choices.find(one), nullptr);
}

std::int64_t count_found(Choices& choices, std::int64_t sizes) {
  std::int64_t found = 0;
  for (std::int64_t size = 0; size < sizes; ++size)
    if (Choice* const choice = choices.find({size})) {
      ++found;
      EXPECT_EQ(choice->results[0], tensor::Shape{size});
    }
  return found;
}

void add_sizes(Choices& choices, std::int64_t sizes, std::size_t most) {
  for (std::int64_t size = 0; size < sizes; ++size) {
    const plan::CallKey key{size};
    if (choices.find(key) != nullptr) continue;
    EXPECT_EQ(choices.add(&key, choice_of(size), most).results[0], tensor::Shape{size});
    ASSERT_NE(choices.find(key), nullptr);
  }
}

TEST(Choices, OfHalfAsManySizesAreAllFound) {
  Choices choices;
  add_sizes(choices, 250, 512);
  EXPECT_EQ(count_found(choices, 250), 250);
}

TEST(Choices, AreBoundedAndSomeOfTooManyAreFound) {
  Choices choices;
  for (int round = 0; round < 3; ++round) add_sizes(choices, 2000, 512);
  EXPECT_GT(count_found(choices, 2000), 400);
  EXPECT_LE(count_found(choices, 2000), 512);
}

TEST(Choices, OfManyCallsAreFewOfEach) {
  EXPECT_EQ(most_choices(1), 4096);
  EXPECT_EQ(most_choices(26), 1024);
  EXPECT_EQ(most_choices(1'000'000), 8);
  Choices choices;
  add_sizes(choices, 1000, most_choices(1'000'000));
  EXPECT_NE(choices.find({999}), nullptr);
  EXPECT_EQ(count_found(choices, 1000), 8);
}

TEST(Choices, AreGivenUpForOneOfALongKey) {
  Choices choices;
  add_sizes(choices, 10, 512);
  const plan::CallKey other(1000, 1), again(1000, 2);
  choices.add(&other, choice_of(1), 512);
  EXPECT_NE(choices.find(other), nullptr);
  EXPECT_EQ(count_found(choices, 10), 0);
  choices.add(&again, choice_of(2), 512);
  EXPECT_NE(choices.find(again), nullptr);
  EXPECT_EQ(choices.find(other), nullptr);
}

}  // namespace
}  // namespace scanloom::runtime
