// Which nests are fused, which are not, and which values are still written afterwards.
#include <gtest/gtest.h>

#include "loopnest/axis_order.h"
#include "tests/loopnest/nests.h"

namespace scanloom::loopnest {
namespace {

using tensor::ScalarOp;

using namespace test;

/// to = a op b, over `sizes`.
Part binary(ScalarOp op, std::vector<std::int64_t> sizes, Access a, Access b, Access to) {
  Part part;
  Nest& nest = part.statement.nest;
  nest.sizes = std::move(sizes);
  nest.reads = {std::move(a), std::move(b)};
  nest.writes = {std::move(to)};
  nest.program.inputs = {DType::f32, DType::f32};
  nest.program.results = {nest.program.append({.op = op, .dtype = DType::f32, .args = {0, 1, -1}})};
  return part;
}

/// to[i] = sum over j < n of from[i, j].
Part row_sums(std::int64_t rows, std::int64_t n, Access from, Access to) {
  Part part;
  Nest& nest = part.statement.nest;
  nest.sizes = {rows};
  nest.writes = {std::move(to)};
  nest.reductions = {Reduction{.kind = Reduction::Kind::sum,
                               .dtype = DType::f32,
                               .sizes = {n},
                               .program = {.inputs = {DType::f32}, .instrs = {}, .results = {0}},
                               .reads = {std::move(from)}}};
  nest.program = {.inputs = {DType::f32}, .instrs = {}, .results = {0}};
  return part;
}

Part call_that_writes(Use use) {
  Part part;
  part.statement.kind = Statement::Kind::call;
  part.writes = {use};
  return part;
}

const Access kX = f32_at(kFeed, 0, {1}), kY = f32_at(kFeed, 32, {1});
const Access kTemporary = f32_at(kLocal, 0, {1}), kOther = f32_at(kLocal, 64, {1});
const Access kNext = f32_at(kState, 0, {1});

TEST(FuseNests, WhatOnlyTheNestReadsStaysInRegisters) {
  const auto parts = after(fuse_nests, {binary(ScalarOp::add, {8}, kX, kY, kTemporary),
                                        binary(ScalarOp::mul, {8}, kTemporary, kX, kNext)});
  ASSERT_EQ(parts.size(), 1U);
  const Nest& nest = parts[0].statement.nest;
  EXPECT_EQ(nest.reads, (std::vector{kX, kY}));
  EXPECT_EQ(nest.writes, (std::vector{kNext}));
  ASSERT_EQ(nest.program.instrs.size(), 2U);
  EXPECT_EQ(nest.program.instrs[1].args[0], 2);  // the sum
  EXPECT_EQ(nest.program.instrs[1].args[1], 0);  // x
  EXPECT_EQ(nest.program.results, (std::vector{3}));
}

TEST(FuseNests, WhatIsReadAfterTheStatementsIsWritten) {
  const auto parts =
      after(fuse_nests, {binary(ScalarOp::add, {8}, kX, kY, kTemporary)}, {{kLocal, 0, 1}});
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].statement.nest.writes, (std::vector{kTemporary}));
  EXPECT_TRUE(after(fuse_nests, {binary(ScalarOp::add, {8}, kX, kY, kTemporary)}).empty());
}

TEST(FuseNests, OtherElementsOfAResultAreNotThereYet) {
  const Access shifted = f32_at(kLocal, 4, {1});
  const auto parts = after(fuse_nests, {binary(ScalarOp::add, {8}, kX, kY, kTemporary),
                                        binary(ScalarOp::mul, {8}, shifted, kX, kNext)});
  EXPECT_EQ(parts.size(), 2U);
}

TEST(FuseNests, NestsOfManyOperandsAreNotJoined) {
  std::vector<Part> parts;
  for (std::int64_t i = 0; i < 100; ++i)
    parts.push_back(binary(ScalarOp::add, {8}, kX, f32_at(kFeed, 64 + 32 * i, {1}),
                           f32_at(kState, 32 * i, {1})));
  const auto fused = after(fuse_nests, std::move(parts));
  EXPECT_GT(fused.size(), 2U);
  EXPECT_LT(fused.size(), 10U);
}

TEST(FuseNests, OtherSizesAreOtherLoops) {
  const auto parts = after(fuse_nests, {binary(ScalarOp::add, {8}, kX, kY, kTemporary),
                                        binary(ScalarOp::mul, {4}, kTemporary, kX, kNext)});
  EXPECT_EQ(parts.size(), 2U);
}

TEST(FuseNests, CallsThatNeitherDependsOnArePassed) {
  const auto passed = after(fuse_nests, {binary(ScalarOp::add, {8}, kX, kY, kTemporary),
                                         call_that_writes({kLocal, 64, 96}),
                                         binary(ScalarOp::mul, {8}, kTemporary, kX, kNext)});
  EXPECT_EQ(passed.size(), 2U);
  const auto kept = after(fuse_nests, {binary(ScalarOp::add, {8}, kX, kY, kTemporary),
                                       call_that_writes({kLocal, 64, 96}),
                                       binary(ScalarOp::mul, {8}, kTemporary, kOther, kNext)});
  EXPECT_EQ(kept.size(), 3U);
}

TEST(FuseNests, ResultsOfReductionsAreTakenFromTheirAccumulators) {
  const auto parts = after(fuse_nests, {row_sums(8, 5, f32_at(kFeed, 0, {5, 1}), kTemporary),
                                        binary(ScalarOp::add, {8}, kTemporary, kTemporary, kNext)});
  ASSERT_EQ(parts.size(), 1U);
  const Nest& nest = parts[0].statement.nest;
  EXPECT_TRUE(nest.reads.empty());
  ASSERT_EQ(nest.reductions.size(), 1U);
  EXPECT_EQ(nest.program.inputs.size(), 1U);
  EXPECT_EQ(nest.program.instrs[0].args[0], 0);
  EXPECT_EQ(nest.program.instrs[0].args[1], 0);
}

TEST(FuseNests, AReductionReadsAllElementsOfWhatItReduces) {
  const auto parts = after(fuse_nests, {binary(ScalarOp::add, {8}, kX, kY, kTemporary),
                                        row_sums(8, 8, f32_at(kLocal, 0, {0, 1}), kNext)});
  EXPECT_EQ(parts.size(), 2U);
}

TEST(FuseNests, WhatReadersHaveTakenInIsComputedOnce) {
  // A chain of square roots, each of which only the next one reads.
  constexpr int kCount = 20;
  std::vector<Part> parts;
  for (int i = 0; i < kCount; ++i) {
    Nest nest;
    nest.sizes = {8};
    nest.reads = {f32_at(i == 0 ? kFeed : kLocal, i == 0 ? 0 : std::int64_t{32} * (i - 1))};
    nest.writes = {
        f32_at(i + 1 == kCount ? kState : kLocal, i + 1 == kCount ? 0 : std::int64_t{32} * i)};
    nest.program.inputs = {DType::f32};
    nest.program.results = {
        nest.program.append({.op = ScalarOp::sqrt, .dtype = DType::f32, .args = {0, -1, -1}})};
    parts.push_back(part_of(std::move(nest), {}));
  }
  parts = after(inline_nests, std::move(parts));
  parts = after(fuse_nests, std::move(parts));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].statement.nest.program.instrs.size(), static_cast<std::size_t>(kCount));
}

TEST(OrderAxes, JoinsWhatLiesInOneStride) {
  Part part = binary(ScalarOp::add, {2, 3, 4}, f32_at(kFeed, 0, {12, 4, 1}),
                     f32_at(kFeed, 48, {0, 0, 0}), f32_at(kState, 0, {12, 4, 1}));
  choose_axis_order(part.statement.nest);
  EXPECT_EQ(part.statement.nest.sizes, (std::vector<std::int64_t>{24}));
  EXPECT_EQ(part.statement.nest.reads[1].strides, (std::vector<std::int64_t>{0}));
}

TEST(OrderAxes, TakesVectorsWhereElementsAreNeighbours) {
  Part part = row_sums(1, 5, f32_at(kFeed, 0, {1, 100}), f32_at(kState, 0, {1}));
  Nest& nest = part.statement.nest;
  nest.sizes = {16, 16};
  nest.reductions[0].reads = {f32_at(kFeed, 0, {1, 100, 1600})};
  nest.writes = {f32_at(kState, 0, {1, 20})};
  choose_axis_order(nest);
  EXPECT_EQ(nest.writes[0].strides, (std::vector<std::int64_t>{20, 1}));
  EXPECT_EQ(nest.reductions[0].reads[0].strides, (std::vector<std::int64_t>{100, 1, 1600}));
}

/// to[i] = a[at[i]] + b[i], or to[at[i]] = a[i] + b[i].
Part indexed(Access a, Access b, Access to, std::int32_t call, bool into = false) {
  Part part = binary(ScalarOp::add, {8}, std::move(a), std::move(b), std::move(to));
  Nest& nest = part.statement.nest;
  Access& moved = into ? nest.writes[0] : nest.reads[0];
  moved.strides = {0};
  moved.indices = {{.slot = kFeed + 1, .strides = {1}, .size = 8, .bytes = 4}};
  nest.calls = {call};
  return part;
}

TEST(FuseNests, NestsThatMayFailJoinInTheirOrder) {
  const Part first = indexed(kX, kY, kTemporary, 2), second = indexed(kY, kX, kNext, 5);
  auto parts = after(fuse_nests, {first, second});
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].statement.nest.calls, (std::vector{2, 5}));
  // Not across another one: of two faults the first one counts.
  const Part between =
      binary(ScalarOp::add, {4}, f32_at(kFeed, 128), f32_at(kFeed, 160), f32_at(kState, 256));
  EXPECT_EQ(after(fuse_nests, {first, between, second}).size(), 2U);
  EXPECT_EQ(after(fuse_nests, {first, call_that_writes({kState, 256, 260}), second}).size(), 3U);
}

TEST(FuseNests, WhatMayFailIsKeptThoughNobodyReadsIt) {
  const auto parts = after(fuse_nests, {indexed(kX, kY, kTemporary, 2)});
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_TRUE(parts[0].statement.nest.writes.empty());
  const auto put = after(fuse_nests, {indexed(kX, kY, kTemporary, 2, true)});
  ASSERT_EQ(put.size(), 1U);
  EXPECT_EQ(put[0].statement.nest.writes.size(), 1U) << "with its index";
}

TEST(FuseNests, WhatIsWrittenByIndexIsWrittenInOrder) {
  const Part put = indexed(kX, kY, kTemporary, 2, true);
  const Part other = binary(ScalarOp::mul, {8}, kX, kY, kOther);
  EXPECT_EQ(after(fuse_nests, {other, put}, {{kLocal, 0, 128}}).size(), 2U);
  EXPECT_EQ(after(fuse_nests, {put, other}, {{kLocal, 0, 128}}).size(), 2U);
  Nest nest = put.statement.nest;
  nest.sizes = {32, 2};
  for (auto* operands : {&nest.reads, &nest.writes})
    for (Access& operand : *operands) operand.strides.push_back(1);
  const std::vector<std::int64_t> sizes = nest.sizes;
  choose_axis_order(nest);
  EXPECT_EQ(nest.sizes, sizes);
}

}  // namespace
}  // namespace scanloom::loopnest
