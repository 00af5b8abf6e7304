#include "plan/bind/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace scanloom::plan {
namespace {

bool overlap(const ArenaPlanner& arena, BufferId a, BufferId b, std::int64_t bytes) {
  return std::abs(arena.offset(a) - arena.offset(b)) < bytes;
}

TEST(Arena, BuffersOfDisjointLifetimesShareMemory) {
  ArenaPlanner arena;
  const BufferId a = arena.add(100);
  arena.tick();
  arena.use(a);
  arena.tick();
  const BufferId b = arena.add(100);
  ASSERT_TRUE(arena.place());
  EXPECT_EQ(arena.offset(a), arena.offset(b));
  EXPECT_EQ(arena.total_bytes(), 128);
}

TEST(Arena, InputsAndOutputsOfOneInstructionDoNotOverlap) {
  ArenaPlanner arena;
  const BufferId a = arena.add(64);
  arena.tick();
  arena.use(a);
  const BufferId b = arena.add(64);
  ASSERT_TRUE(arena.place());
  EXPECT_FALSE(overlap(arena, a, b, 64));
}

TEST(Arena, WhatALoopReadsFromOutsideLivesToItsEnd) {
  ArenaPlanner arena;
  const BufferId outside = arena.add(64);
  arena.open_loop();
  arena.use(outside);
  arena.tick();
  const BufferId later = arena.add(64);  // after the last read in program order, but steps repeat
  arena.tick();
  arena.close_loop();
  const BufferId after = arena.add(64);
  ASSERT_TRUE(arena.place());
  EXPECT_FALSE(overlap(arena, outside, later, 64));
  EXPECT_EQ(arena.offset(after), 0);
}

TEST(Arena, NestedLoopsExtendToTheOutermostThatNeedsIt) {
  ArenaPlanner arena;
  arena.open_loop();
  const BufferId outer_body = arena.add(64);
  arena.open_loop();
  arena.use(outer_body);
  arena.tick();
  const BufferId inner = arena.add(64);
  arena.close_loop();
  const BufferId after_inner = arena.add(64);
  arena.close_loop();
  ASSERT_TRUE(arena.place());
  EXPECT_FALSE(overlap(arena, outer_body, inner, 64));
  EXPECT_TRUE(overlap(arena, outer_body, after_inner, 64) ||
              overlap(arena, inner, after_inner, 64));
}

TEST(Arena, ManyThatLiveAtOnceLieCloseTogether) {
  ArenaPlanner arena;
  std::vector<BufferId> live;
  std::int64_t bytes = 0;
  for (int i = 0; i < 20'000; ++i) {
    live.push_back(arena.add(64 * (1 + i % 7)));
    bytes += 64 * (1 + i % 7);
    arena.tick();
  }
  for (const BufferId id : live) arena.use(id);
  ASSERT_TRUE(arena.place());
  EXPECT_EQ(arena.total_bytes(), bytes);
}

TEST(Arena, ShortLivesFillTheGapBesideManyLongOnes) {
  constexpr int kCount = 2'000;
  ArenaPlanner arena;
  std::vector<BufferId> live;
  for (int i = 0; i < kCount; ++i) {
    const BufferId once = arena.add(64);
    arena.tick();
    arena.use(once);
    live.push_back(arena.add(64));
    arena.tick();
  }
  for (const BufferId id : live) arena.use(id);
  ASSERT_TRUE(arena.place());
  EXPECT_EQ(arena.total_bytes(), (kCount + 1) * 64);
}

TEST(Arena, NoTwoThatLiveAtOnceOverlap) {
  struct Life {
    BufferId id;
    std::int64_t bytes;
    int born, dies;
  };
  std::uint32_t seed = 1;
  const auto draw = [&](std::uint32_t below) {
    return (seed = seed * 1664525u + 1013904223u) / 65536u % below;
  };
  ArenaPlanner arena;
  std::vector<Life> lives;
  for (int now = 0; now < 400; ++now) {
    const std::int64_t bytes = 64 * (1 + draw(20));
    lives.push_back({arena.add(bytes), bytes, now, now});
    for (int uses = 0; uses < 2; ++uses) {
      Life& used = lives[lives.size() - 1 -
                         draw(static_cast<std::uint32_t>(std::min<std::size_t>(lives.size(), 40)))];
      arena.use(used.id);
      used.dies = now;
    }
    arena.tick();
  }
  ASSERT_TRUE(arena.place());
  for (const Life& a : lives)
    for (const Life& b : lives) {
      if (a.id >= b.id || a.dies < b.born || b.dies < a.born) continue;
      EXPECT_TRUE(arena.offset(a.id) + a.bytes <= arena.offset(b.id) ||
                  arena.offset(b.id) + b.bytes <= arena.offset(a.id));
    }
}

// Thousands of equal buffers, some of which live long: no more memory than live at once.
TEST(Arena, ManyEqualBuffersTakeNoMoreThanLiveAtOnce) {
  ArenaPlanner arena;
  constexpr int kMany = 3000;
  std::vector<BufferId> kept;
  for (int i = 0; i < kMany; ++i) {
    const BufferId buffer = arena.add(64);
    if (i % 2 == 0) kept.push_back(buffer);
    arena.tick();
    arena.use(buffer);
  }
  // The way back reads them in the other order.
  while (!kept.empty()) {
    const BufferId made = arena.add(64);
    arena.use(kept.back());
    kept.pop_back();
    arena.tick();
    arena.use(made);
  }
  ASSERT_TRUE(arena.place());
  EXPECT_EQ(arena.total_bytes(), (kMany / 2 + 2) * 64);
}

TEST(Arena, ManyOfFewSizesDoNotOverlap) {
  std::mt19937 random(5);
  for (int round = 0; round < 3; ++round) {
    ArenaPlanner arena;
    struct Life {
      BufferId id;
      std::int64_t bytes;
      int born, dies;
    };
    std::vector<Life> all;
    for (int now = 0; now < 2500; ++now) {
      const std::int64_t bytes = std::int64_t{64} << (random() % 3);
      all.push_back({arena.add(bytes), bytes, now, now});
      for (int k = 0; k < 2; ++k) {
        Life& used = all[all.size() - 1 - random() % std::min<std::size_t>(all.size(), 60)];
        arena.use(used.id);
        used.dies = now;
      }
      arena.tick();
    }
    ASSERT_TRUE(arena.place());
    for (std::size_t a = 0; a < all.size(); ++a)
      for (std::size_t b = a + 1; b < all.size() && all[b].born <= all[a].dies; ++b) {
        const std::int64_t first = arena.offset(all[a].id), second = arena.offset(all[b].id);
        ASSERT_TRUE(first + all[a].bytes <= second || second + all[b].bytes <= first)
            << "buffers " << a << " and " << b;
      }
  }
}

TEST(Arena, OffsetsThatOverflowAreRefused) {
  ArenaPlanner arena;
  constexpr std::int64_t kLargest = std::int64_t{1} << 62;
  const BufferId first = arena.add(kLargest);
  const BufferId second = arena.add(kLargest);
  arena.use(first), arena.use(second);
  const auto placed = arena.place();
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().code(), Code::limit_reached);
}

}  // namespace
}  // namespace scanloom::plan
