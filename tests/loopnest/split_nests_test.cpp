// Which nests read the pieces of a value instead of the value.

#include <gtest/gtest.h>

#include "tests/loopnest/nests.h"

namespace scanloom::loopnest {
namespace {

using tensor::ScalarOp;

using namespace test;

constexpr std::int64_t kRows = 32, kColumns = 48;
/// A row of zeros before as many rows as kFeed holds.
const Whole kWhole{
    .slot = kLocal, .offset = 64, .dims = {kRows, kColumns}, .strides = {kColumns, 1}};

Part piece(Nest nest, const Whole& whole = kWhole) {
  Part part = part_of(std::move(nest), {});
  part.whole = whole;
  return part;
}

Part zeros(std::vector<std::int64_t> sizes, Access to, const Whole& whole = kWhole) {
  Nest nest;
  nest.sizes = std::move(sizes);
  nest.program.results = {nest.program.append({.op = ScalarOp::constant, .dtype = DType::f32})};
  nest.writes = {std::move(to)};
  return piece(std::move(nest), whole);
}

Part copied(std::vector<std::int64_t> sizes, Access from, Access to, const Whole& whole = kWhole) {
  Nest nest;
  nest.sizes = std::move(sizes);
  nest.reads = {std::move(from)};
  nest.writes = {std::move(to)};
  nest.program = {.inputs = {DType::f32}, .instrs = {}, .results = {0}};
  return piece(std::move(nest), whole);
}

/// to = a + b, over rows of columns.
Part sum(std::int64_t rows, Access a, Access b, Access to) {
  Nest nest;
  nest.sizes = {rows, kColumns};
  nest.reads = {std::move(a), std::move(b)};
  nest.writes = {std::move(to)};
  nest.program.inputs = {DType::f32, DType::f32};
  nest.program.results = {
      nest.program.append({.op = ScalarOp::add, .dtype = DType::f32, .args = {0, 1, -1}})};
  return part_of(std::move(nest), {});
}

Access rows_at(std::int32_t slot, std::int64_t offset) {
  return f32_at(slot, offset, {kColumns, 1});
}

constexpr std::int64_t kRowBytes = 4 * kColumns;
const std::vector<Part> kPieces{
    zeros({kColumns}, f32_at(kLocal, 64)),
    copied({kRows - 1, kColumns}, rows_at(kFeed, 0), rows_at(kLocal, 64 + kRowBytes))};

std::vector<Part> split(std::vector<Part> parts, std::vector<Use> read_later = {}) {
  return after(split_nests, std::move(parts), std::move(read_later));
}

TEST(SplitNests, AReaderOfTwoPiecesBecomesTwo) {
  std::vector<Part> parts = kPieces;
  parts.push_back(sum(kRows, rows_at(kLocal, 64), rows_at(kFeed + 1, 0), rows_at(kState, 0)));
  parts = split(std::move(parts));
  ASSERT_EQ(parts.size(), 4U);
  const Nest &first = parts[2].statement.nest, &others = parts[3].statement.nest;
  EXPECT_EQ(first.sizes, (std::vector<std::int64_t>{kColumns}));
  EXPECT_EQ(first.reads, (std::vector{f32_at(kFeed + 1, 0)}));
  EXPECT_EQ(first.program.instrs.size(), 2U);
  EXPECT_EQ(first.writes, (std::vector{f32_at(kState, 0)}));
  EXPECT_EQ(others.sizes, (std::vector<std::int64_t>{kRows - 1, kColumns}));
  EXPECT_EQ(others.reads, (std::vector{rows_at(kFeed, 0), rows_at(kFeed + 1, kRowBytes)}));
  EXPECT_EQ(others.program.instrs.size(), 1U);
  EXPECT_EQ(others.writes, (std::vector{rows_at(kState, kRowBytes)}));
}

TEST(SplitNests, RowsOfOnePieceAreReadThere) {
  std::vector<Part> parts = kPieces;
  parts.push_back(sum(5, rows_at(kLocal, 64 + 3 * kRowBytes), rows_at(kLocal, 64 + kRowBytes),
                      rows_at(kState, 0)));
  parts = split(std::move(parts));
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[2].statement.nest.reads,
            (std::vector{rows_at(kFeed, 2 * kRowBytes), rows_at(kFeed, 0)}));
}

TEST(SplitNests, ColumnsAreSplitAsRowsAre) {
  const Whole whole{.slot = kLocal, .dims = {kRows, kColumns}, .strides = {kColumns, 1}};
  std::vector<Part> parts{
      copied({kRows, kColumns - 1}, rows_at(kFeed, 4), rows_at(kLocal, 0), whole),
      zeros({kRows}, f32_at(kLocal, kRowBytes - 4, {kColumns}), whole),
      sum(kRows, rows_at(kLocal, 0), rows_at(kLocal, 0), rows_at(kState, 0))};
  parts = split(std::move(parts));
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[2].statement.nest.sizes, (std::vector<std::int64_t>{kRows, kColumns - 1}));
  EXPECT_EQ(parts[2].statement.nest.reads, (std::vector{rows_at(kFeed, 4)}));
  EXPECT_EQ(parts[3].statement.nest.sizes, (std::vector<std::int64_t>{kRows}));
  EXPECT_TRUE(parts[3].statement.nest.reads.empty());
  EXPECT_EQ(parts[3].statement.nest.writes,
            (std::vector{f32_at(kState, kRowBytes - 4, {kColumns})}));
}

TEST(SplitNests, WhatOthersReadAsAWholeStaysOne) {
  const Part reader = sum(kRows, rows_at(kLocal, 64), rows_at(kFeed + 1, 0), rows_at(kState, 0));
  Part call;
  call.statement.kind = Statement::Kind::call;
  call.reads = {{kLocal, 64, 68}};
  Part writer = call;
  std::swap(writer.reads, writer.writes);
  writer.writes[0].slot = kFeed;
  for (const Part& other : {call, writer}) {
    std::vector<Part> parts = kPieces;
    parts.insert(parts.end(), {other, reader});
    EXPECT_EQ(split(std::move(parts)).size(), 4U);
  }
  std::vector<Part> parts = kPieces;
  parts.push_back(reader);
  EXPECT_EQ(split(parts, {{kLocal, 64, 65}}).size(), 3U);
  // Every other row, of which no box is made.
  parts.back().statement.nest.reads[0].strides[0] = 2 * kColumns;
  parts.back().statement.nest.sizes[0] = kRows / 2;
  parts.back() = part_of(parts.back().statement.nest, {});
  EXPECT_EQ(split(parts).size(), 3U);
}

TEST(SplitNests, WhatTakesMoreWorkInPartsStaysOne) {
  // Columns of functions, one by one.
  const Whole whole{.slot = kLocal, .dims = {5, 16}, .strides = {16, 1}};
  std::vector<Part> parts;
  for (std::int64_t i = 0; i < 16; ++i)
    parts.push_back(copied({5}, f32_at(kFeed, 32 * i), f32_at(kLocal, 4 * i, {16}), whole));
  Nest nest;
  nest.sizes = {5, 16};
  nest.reads = {f32_at(kLocal, 0, {16, 1})};
  nest.writes = {f32_at(kState, 0, {16, 1})};
  nest.program.inputs = {DType::f32};
  nest.program.results = {
      nest.program.append({.op = ScalarOp::exp, .dtype = DType::f32, .args = {0, -1, -1}})};
  parts.push_back(part_of(std::move(nest), {}));
  EXPECT_EQ(split(std::move(parts)).size(), 17U);
}

}  // namespace
}  // namespace scanloom::loopnest
