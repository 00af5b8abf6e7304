#include "runtime/result_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace scanloom::runtime {
namespace {

constexpr std::int64_t kLarge = std::int64_t{1} << 20;

TEST(ResultMemory, IsUsedAgainWhenNobodyHoldsIt) {
  ResultMemory memory;
  auto first = memory.take(kLarge);
  auto second = memory.take(kLarge);
  EXPECT_NE(first, second);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.get()) % 64, 0u);
  const std::byte* const place = first.get();
  first.reset();
  EXPECT_NE(memory.take(2 * kLarge).get(), place) << "too small";
  EXPECT_EQ(memory.take(kLarge - 64).get(), place);
}

TEST(ResultMemory, MayGoBeforeWhatItGave) {
  auto memory = std::make_unique<ResultMemory>();
  auto block = memory->take(kLarge);
  memory.reset();
  std::memset(block.get(), 1, static_cast<std::size_t>(kLarge));
}

TEST(ResultMemory, KeepsABoundedPart) {
  ResultMemory memory;
  std::vector<std::shared_ptr<std::byte[]>> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(memory.take(kLarge + 64 * i));
  const std::byte* const last = blocks.back().get();
  blocks.clear();  // from the first to the last
  EXPECT_EQ(memory.take(kLarge + 64 * 19).get(), last);
}

TEST(ResultMemory, IsSharedByThreads) {
  ResultMemory memory;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const auto block = memory.take(kLarge);
        block[0] = block[kLarge - 1] = static_cast<std::byte>(t);
        EXPECT_EQ(block[0], block[kLarge - 1]);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace scanloom::runtime
