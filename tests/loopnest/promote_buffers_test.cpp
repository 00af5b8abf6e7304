// The buffers that a compiled body keeps in memory of its own.

#include <gtest/gtest.h>

#include "tests/loopnest/nests.h"

namespace scanloom::loopnest {
namespace {

using test::f32_at, test::is_local, test::kFeed;

constexpr std::int32_t kArena = test::kLocal, kNow = 3, kThen = 4;

Part copy(Access from, Access to, std::int64_t count = 4) {
  Nest nest;
  nest.sizes = {count};
  nest.reads = {std::move(from)};
  nest.writes = {std::move(to)};
  nest.program = {.inputs = {DType::f32}, .instrs = {}, .results = {0}};
  return part_of(std::move(nest), {});
}

const Access& read_of(const Part& part) { return part.statement.nest.reads[0]; }
const Access& write_of(const Part& part) { return part.statement.nest.writes[0]; }

/// Runs the pass over the parts of `source`.
void promote(std::vector<Part>& parts, BodySource& source, std::vector<Use> read_later = {}) {
  BodyParts body{.parts = std::move(parts), .source = std::move(source), .is_buffer = is_local};
  body.read_later = std::move(read_later);
  promote_buffers(body);
  parts = std::move(body.parts);
  source = std::move(body.source);
}

TEST(PromoteBuffers, ValuesOfTheStepNeedNoArena) {
  std::vector<Part> parts{copy(f32_at(kFeed, 0), f32_at(kArena, 64)),
                          copy(f32_at(kArena, 64), f32_at(kThen, 0))};
  BodySource source;
  promote(parts, source);
  EXPECT_EQ(source.locals, (std::vector<std::int64_t>{16}));
  EXPECT_EQ(write_of(parts[0]), f32_at(local_slot(0), 0));
  EXPECT_EQ(read_of(parts[1]), f32_at(local_slot(0), 0));
}

TEST(PromoteBuffers, WhatIsMadeBeforeTheLoopOrReadByOthersStays) {
  Part call;
  call.statement.kind = Statement::Kind::call;
  call.reads = {{kArena, 128, 144}};
  std::vector<Part> parts{copy(f32_at(kArena, 0), f32_at(kArena, 64)),
                          copy(f32_at(kFeed, 0), f32_at(kArena, 128)), call};
  BodySource source;
  promote(parts, source, {{kArena, 64, 65}});
  EXPECT_TRUE(source.locals.empty());
  EXPECT_EQ(read_of(parts[0]).slot, kArena);
}

TEST(PromoteBuffers, IndicesStayWhereKernelsReadThem) {
  std::vector<Part> parts{copy(f32_at(kFeed, 0), f32_at(kArena, 64)),
                          copy(f32_at(kFeed, 32), f32_at(kThen, 0))};
  Nest& nest = parts[1].statement.nest;
  nest.reads[0].strides = {0};
  nest.reads[0].indices = {{.slot = kArena, .offset = 64, .strides = {1}, .size = 4, .bytes = 4}};
  parts[1] = part_of(nest, {});
  BodySource source;
  promote(parts, source);
  EXPECT_TRUE(source.locals.empty());
  EXPECT_EQ(write_of(parts[0]).slot, kArena);
}

TEST(PromoteBuffers, SmallStatesAreCopiedInsteadOfSwapped) {
  std::vector<Part> parts{copy(f32_at(kNow, 0), f32_at(kThen, 0))};
  BodySource source;
  source.swaps = {{kNow, kThen}};
  promote(parts, source);
  EXPECT_TRUE(source.swaps.empty());
  ASSERT_EQ(source.states.size(), 1U);
  EXPECT_EQ(source.states[0].slot, kNow);
  EXPECT_EQ(read_of(parts[0]).slot, source.states[0].now);
  EXPECT_EQ(write_of(parts[0]).slot, source.states[0].then);
}

TEST(PromoteBuffers, OfManySmallStatesTheFirstAreCopied) {
  std::vector<Part> parts;
  BodySource source;
  for (std::int32_t i = 0; i < 200; ++i) {
    parts.push_back(copy(f32_at(10 + 2 * i, 0), f32_at(11 + 2 * i, 0)));
    source.swaps.push_back({10 + 2 * i, 11 + 2 * i});
  }
  promote(parts, source);
  EXPECT_EQ(source.states.size(), 64U);
  EXPECT_EQ(source.swaps.size(), 136U);
}

TEST(PromoteBuffers, LargeStatesAndThoseThatCallsReadAreSwapped) {
  Part call;
  call.statement.kind = Statement::Kind::call;
  call.reads = {{kNow, 0, 16}};
  for (const bool large : {true, false}) {
    std::vector<Part> parts{copy(f32_at(kNow, 0), f32_at(kThen, 0), large ? 1000 : 4)};
    if (!large) parts.push_back(call);
    BodySource source;
    source.swaps = {{kNow, kThen}};
    promote(parts, source);
    EXPECT_EQ(source.swaps.size(), 1U);
    EXPECT_TRUE(source.states.empty());
    EXPECT_EQ(read_of(parts[0]).slot, kNow);
  }
}

}  // namespace
}  // namespace scanloom::loopnest
