// The chunks of a speculated loop, where memory for one more runs out.
#include "runtime/speculative_chunks.h"

#include <gtest/gtest.h>

#include <new>

namespace scanloom::runtime {
namespace {

constexpr std::size_t kStateBytes = 8;

// Threads of the pool split chunks, and must not be left by an exception.
TEST(SpeculativeChunks, AreNotSplitWithoutMemory) {
  bool has_memory = true;
  SpeculativeChunks chunks(0, 100, kStateBytes, {}, [&](std::int64_t) {
    if (!has_memory) throw std::bad_alloc();
    return SpeculatedState(kStateBytes);
  });
  ASSERT_TRUE(chunks.take_front());
  chunks.allow_stealing();
  chunks.allow_leaving();
  has_memory = false;
  EXPECT_EQ(chunks.steal(), nullptr);
  EXPECT_EQ(chunks.take_or_wait(), nullptr);
  EXPECT_EQ(chunks.last_of(*chunks.front()), 100);
  has_memory = true;
  const SpeculativeChunk* const second = chunks.steal();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->first(), 50);
  EXPECT_EQ(chunks.last_of(*chunks.front()), 50);
}

}  // namespace
}  // namespace scanloom::runtime
