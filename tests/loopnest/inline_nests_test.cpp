// Which element programs are inlined into their readers, and under which conditions.

#include <gtest/gtest.h>

#include "tests/loopnest/nests.h"

namespace scanloom::loopnest {
namespace {

using tensor::ScalarOp;

using namespace test;

const Access kMatrix = f32_at(kFeed, 0, {8, 1}), kProduct = f32_at(kLocal, 0, {8, 1});

/// to = op(from), over `sizes`.
Part unary(ScalarOp op, std::vector<std::int64_t> sizes, Access from, Access to) {
  Nest nest;
  nest.sizes = std::move(sizes);
  nest.reads = {std::move(from)};
  nest.writes = {std::move(to)};
  nest.program.inputs = {DType::f32};
  nest.program.results = {
      nest.program.append({.op = op, .dtype = DType::f32, .args = {0, -1, -1}})};
  return part_of(std::move(nest), {});
}

/// to[i] = sum over j < n of from[i, j].
Part sums(std::int64_t results, std::int64_t n, Access from, Access to) {
  Nest nest;
  if (results > 1) nest.sizes = {results};
  nest.writes = {std::move(to)};
  nest.reductions = {Reduction{.dtype = DType::f32,
                               .sizes = {n},
                               .program = {.inputs = {DType::f32}, .instrs = {}, .results = {0}},
                               .reads = {std::move(from)}}};
  nest.program = {.inputs = {DType::f32}, .instrs = {}, .results = {0}};
  return part_of(std::move(nest), {});
}

TEST(InlineNests, AReductionTakesTheProgramOfWhatItReads) {
  // The columns of what was computed row by row.
  std::vector<Part> parts{unary(ScalarOp::exp, {4, 8}, kMatrix, kProduct),
                          sums(8, 4, f32_at(kLocal, 0, {1, 8}), f32_at(kState, 0, {1}))};
  parts = after(inline_nests, std::move(parts));
  const Reduction& reduction = parts[1].statement.nest.reductions[0];
  ASSERT_EQ(reduction.program.instrs.size(), 1U);
  EXPECT_EQ(reduction.program.instrs[0].op, ScalarOp::exp);
  EXPECT_EQ(reduction.reads, (std::vector{f32_at(kFeed, 0, {1, 8})}));
  EXPECT_EQ(reduction.program.results, (std::vector{1}));
}

TEST(InlineNests, SeveralReadersTakeWhatIsCheap) {
  for (const ScalarOp op : {ScalarOp::neg, ScalarOp::exp}) {
    std::vector<Part> parts{unary(op, {4, 8}, kMatrix, kProduct),
                            sums(8, 4, f32_at(kLocal, 0, {1, 8}), f32_at(kState, 0, {1})),
                            unary(ScalarOp::tanh, {4, 8}, kProduct, f32_at(kState, 64, {8, 1}))};
    parts = after(inline_nests, std::move(parts));
    const bool moved = op == ScalarOp::neg;
    EXPECT_EQ(parts[1].statement.nest.reductions[0].program.instrs.size(), moved ? 1U : 0U);
    EXPECT_EQ(parts[2].statement.nest.program.instrs.size(), moved ? 2U : 1U);
  }
}

TEST(InlineNests, WhatIsReadTwiceIsComputedOnce) {
  // x * x, of which the next is the square again: as many instructions as parts.
  std::vector<Part> parts;
  for (int i = 0; i < 40; ++i) {
    Nest nest;
    nest.sizes = {8};
    const Access from = i == 0 ? f32_at(kFeed, 0, {1}) : f32_at(kLocal, 32 * i, {1});
    nest.reads = {from, from};
    nest.writes = {f32_at(i == 39 ? kState : kLocal, 32 * (i + 1), {1})};
    nest.program.inputs = {DType::f32, DType::f32};
    nest.program.results = {
        nest.program.append({.op = ScalarOp::mul, .dtype = DType::f32, .args = {0, 1, -1}})};
    parts.push_back(part_of(std::move(nest), {}));
  }
  parts = after(inline_nests, std::move(parts));
  EXPECT_EQ(parts.back().statement.nest.program.instrs.size(), 40U);
}

TEST(InlineNests, NothingIsComputedForEachOfSeveralElements) {
  // Each of the eight is read four times.
  std::vector<Part> parts{
      unary(ScalarOp::neg, {8}, f32_at(kFeed, 0, {1}), f32_at(kLocal, 0, {1})),
      unary(ScalarOp::tanh, {4, 8}, f32_at(kLocal, 0, {0, 1}), f32_at(kState, 0, {8, 1}))};
  parts = after(inline_nests, std::move(parts));
  EXPECT_EQ(parts[1].statement.nest.program.instrs.size(), 1U);
}

TEST(InlineNests, WhatIsOverwrittenBeforeItIsReadStays) {
  std::vector<Part> parts{unary(ScalarOp::neg, {4, 8}, f32_at(kState, 0, {8, 1}), kProduct),
                          unary(ScalarOp::exp, {4, 8}, kMatrix, f32_at(kState, 0, {8, 1})),
                          sums(8, 4, f32_at(kLocal, 0, {1, 8}), f32_at(kState, 512, {1}))};
  parts = after(inline_nests, std::move(parts));
  EXPECT_TRUE(parts[2].statement.nest.reductions[0].program.instrs.empty());
}

TEST(InlineNests, WhatACallReadsOrTheLoopStays) {
  std::vector<Part> parts{unary(ScalarOp::neg, {4, 8}, kMatrix, kProduct),
                          sums(8, 4, f32_at(kLocal, 0, {1, 8}), f32_at(kState, 0, {1}))};
  parts = after(inline_nests, std::move(parts), {{kLocal, 0, 4}});
  EXPECT_TRUE(parts[1].statement.nest.reductions[0].program.instrs.empty());
  Part call;
  call.statement.kind = Statement::Kind::call;
  call.reads = {{kLocal, 0, 16}};
  parts.push_back(call);
  parts = after(inline_nests, std::move(parts));
  EXPECT_TRUE(parts[1].statement.nest.reductions[0].program.instrs.empty());
}

TEST(InlineNests, AReductionWithoutLanesTakesOnlyWhatIsCheap) {
  for (const ScalarOp op : {ScalarOp::neg, ScalarOp::exp}) {
    std::vector<Part> parts{unary(op, {32}, f32_at(kFeed, 0, {1}), f32_at(kLocal, 0, {1})),
                            sums(1, 32, f32_at(kLocal, 0, {1}), f32_at(kState, 0, {}))};
    parts = after(inline_nests, std::move(parts));
    EXPECT_EQ(parts[1].statement.nest.reductions[0].program.instrs.empty(), op == ScalarOp::exp);
  }
}

/// to[i] = from[at[i]].
Part gathered(Access from, std::int32_t at, Access to, std::int32_t call) {
  Part part = unary(ScalarOp::neg, {8}, std::move(from), std::move(to));
  Nest nest = std::move(part.statement.nest);
  nest.reads[0].strides = {0};
  nest.reads[0].indices = {{.slot = at, .strides = {1}, .size = 4, .bytes = 4}};
  nest.calls = {call};
  return part_of(std::move(nest), {});
}

TEST(InlineNests, WhatIsPickedByIndexMovesToItsOnlyReader) {
  const Access picked = f32_at(kLocal, 0), table = f32_at(kFeed, 0);
  std::vector<Part> parts{gathered(table, kFeed + 1, picked, 3),
                          unary(ScalarOp::exp, {8}, picked, f32_at(kState, 0))};
  parts = after(inline_nests, std::move(parts));
  ASSERT_EQ(parts.size(), 1U);
  const Nest& nest = parts[0].statement.nest;
  EXPECT_EQ(nest.program.instrs.size(), 2U);
  EXPECT_EQ(nest.calls, (std::vector{3}));
  ASSERT_EQ(nest.reads.size(), 1U);
  ASSERT_EQ(nest.reads[0].indices.size(), 1U);
  EXPECT_EQ(nest.reads[0].indices[0].strides, (std::vector<std::int64_t>{1}));
}

TEST(InlineNests, WhatIsPickedByIndexStaysWhereItMayFail) {
  const Access picked = f32_at(kLocal, 0), table = f32_at(kFeed, 0);
  const Part reader = unary(ScalarOp::exp, {8}, picked, f32_at(kState, 0));
  // Before another one that may fail, for two readers, and where it is an index itself.
  std::vector<Part> parts{gathered(table, kFeed + 1, picked, 3),
                          gathered(table, kFeed + 2, f32_at(kState, 64), 4), reader};
  parts = after(inline_nests, std::move(parts));
  EXPECT_EQ(parts.size(), 3U);
  parts = {gathered(table, kFeed + 1, picked, 3), reader,
           unary(ScalarOp::tanh, {8}, picked, f32_at(kState, 64))};
  parts = after(inline_nests, std::move(parts));
  EXPECT_EQ(parts.size(), 3U);
  parts = {unary(ScalarOp::neg, {8}, table, picked),
           gathered(table, kLocal, f32_at(kState, 64), 4)};
  parts = after(inline_nests, std::move(parts));
  EXPECT_EQ(parts[1].statement.nest.reads[0].indices[0].slot, kLocal);
  EXPECT_EQ(parts[1].statement.nest.program.instrs.size(), 1U);
}

}  // namespace
}  // namespace scanloom::loopnest
