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

// A chunk without room for checkpoints ends, and nobody splits one.
TEST(SpeculativeChunks, HoldNoMoreBytesThanTheyMay) {
  constexpr std::int64_t kEach = kStateBytes + sizeof(std::int64_t);
  SpeculativeChunks chunks(0, 1000, kStateBytes, {.parts = 2, .max_bytes = 4 * kEach},
                           [](std::int64_t) { return SpeculatedState(kStateBytes); });
  chunks.allow_stealing();
  ASSERT_TRUE(chunks.take_front());
  SpeculativeChunk* const second = chunks.take_last();
  ASSERT_NE(second, nullptr);
  const SpeculatedState state(kStateBytes);
  EXPECT_TRUE(chunks.add_checkpoint(*second, 510, state));
  EXPECT_TRUE(chunks.add_checkpoint(*second, 520, state));
  EXPECT_FALSE(chunks.add_checkpoint(*second, 530, state));
  EXPECT_EQ(chunks.steal(), nullptr);
  SpeculatedState last(kStateBytes);
  EXPECT_EQ(chunks.last_checkpoint(*second, 0, last), 520);
  chunks.commit_front();
  EXPECT_TRUE(chunks.add_checkpoint(*second, 530, state));
}

TEST(SpeculativeChunks, HaveAsManyCheckpointsAsPredicted) {
  for (const std::int64_t steps : {1, 63, 64, 65, 5000, 1'000'000}) {
    for (const std::int64_t first_piece : {1, 64}) {
      SpeculativeChunks chunks(0, steps, kStateBytes, {.first_piece = first_piece},
                               [](std::int64_t) { return SpeculatedState(kStateBytes); });
      ASSERT_TRUE(chunks.take_front());
      std::int64_t count = 0;
      for (std::int64_t step = 0; step < steps; ++count)
        step = chunks.begin_piece(*chunks.front(), step);
      EXPECT_EQ(most_checkpoints(steps, first_piece), count) << steps << ", " << first_piece;
    }
  }
}

}  // namespace
}  // namespace scanloom::runtime
