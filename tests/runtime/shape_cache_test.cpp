#include "runtime/shape_cache.h"

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

CachedCall cached_of(std::int64_t size) { return {.results = {tensor::Shape{size}}}; }

TEST(CallKeys, HoldValuesOfInputsThatDecideAlone) {
  Numbers a({1, 2}), b({3, 4}), other({3, 5});
  const std::uint64_t second = ir::value_bit(1);
  EXPECT_EQ(key_of(a, b, 0), key_of(b, a, 0));
  EXPECT_EQ(key_of(a, b, second), key_of(b, b, second));
  EXPECT_NE(key_of(a, b, second), key_of(a, other, second));
  b.step = 2;
  EXPECT_NE(key_of(a, b, 0), key_of(a, other, 0));
}

TEST(CallKeys, InputsFromTheLastBitOnShareIt) {
  EXPECT_EQ(ir::value_bit(63), ir::value_bit(64));
  EXPECT_NE(ir::value_bit(62), ir::value_bit(63));
}

TEST(CallKeys, AreNotMadeOfManyValuesOrOfSpreadOnes) {
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

TEST(ShapeCache, FindsEntriesAgain) {
  ShapeCache cache;
  EXPECT_EQ(cache.find({1}), nullptr);
  cache.add(nullptr, cached_of(1), 8);
  const plan::CallKey one{1}, two{2};
  cache.add(&one, cached_of(1), 8);
  cache.add(&two, cached_of(2), 8);
  ASSERT_NE(cache.find(one), nullptr);
  EXPECT_EQ(cache.find(one)->results[0], tensor::Shape{1});
  ASSERT_NE(cache.find(two), nullptr);
  EXPECT_EQ(cache.find(two)->results[0], tensor::Shape{2});
  EXPECT_EQ(cache.find({3}), nullptr);
  cache.clear();
  EXPECT_EQ(cache.find(one), nullptr);
}

std::int64_t count_found(ShapeCache& cache, std::int64_t sizes) {
  std::int64_t found = 0;
  for (std::int64_t size = 0; size < sizes; ++size)
    if (CachedCall* const cached = cache.find({size})) {
      ++found;
      EXPECT_EQ(cached->results[0], tensor::Shape{size});
    }
  return found;
}

void add_sizes(ShapeCache& cache, std::int64_t sizes, std::size_t max) {
  for (std::int64_t size = 0; size < sizes; ++size) {
    const plan::CallKey key{size};
    if (cache.find(key) != nullptr) continue;
    EXPECT_EQ(cache.add(&key, cached_of(size), max).results[0], tensor::Shape{size});
    ASSERT_NE(cache.find(key), nullptr);
  }
}

TEST(ShapeCache, FindsAllOfHalfAsManySizes) {
  ShapeCache cache;
  add_sizes(cache, 250, 512);
  EXPECT_EQ(count_found(cache, 250), 250);
}

TEST(ShapeCache, IsBoundedAndFindsSomeOfTooMany) {
  ShapeCache cache;
  for (int round = 0; round < 3; ++round) add_sizes(cache, 2000, 512);
  EXPECT_GT(count_found(cache, 2000), 400);
  EXPECT_LE(count_found(cache, 2000), 512);
}

TEST(ShapeCache, KeepsFewOfEachOfManyCalls) {
  EXPECT_EQ(max_cached_calls(1), 4096);
  EXPECT_EQ(max_cached_calls(26), 1024);
  EXPECT_EQ(max_cached_calls(1'000'000), 8);
  ShapeCache cache;
  add_sizes(cache, 1000, max_cached_calls(1'000'000));
  EXPECT_NE(cache.find({999}), nullptr);
  EXPECT_EQ(count_found(cache, 1000), 8);
}

TEST(ShapeCache, EvictsAllForALongKey) {
  ShapeCache cache;
  add_sizes(cache, 10, 512);
  const plan::CallKey other(1000, 1), again(1000, 2);
  cache.add(&other, cached_of(1), 512);
  EXPECT_NE(cache.find(other), nullptr);
  EXPECT_EQ(count_found(cache, 10), 0);
  cache.add(&again, cached_of(2), 512);
  EXPECT_NE(cache.find(again), nullptr);
  EXPECT_EQ(cache.find(other), nullptr);
}

}  // namespace
}  // namespace scanloom::runtime
