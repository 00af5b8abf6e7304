#include "plan/arena.h"

#include <gtest/gtest.h>

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
  arena.place();
  EXPECT_EQ(arena.offset(a), arena.offset(b));
  EXPECT_EQ(arena.total_bytes(), 128);
}

TEST(Arena, InputsAndOutputsOfOneInstructionDoNotOverlap) {
  ArenaPlanner arena;
  const BufferId a = arena.add(64);
  arena.tick();
  arena.use(a);
  const BufferId b = arena.add(64);
  arena.place();
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
  arena.place();
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
  arena.place();
  EXPECT_FALSE(overlap(arena, outer_body, inner, 64));
  EXPECT_TRUE(overlap(arena, outer_body, after_inner, 64) ||
              overlap(arena, inner, after_inner, 64));
}

}  // namespace
}  // namespace scanloom::plan
