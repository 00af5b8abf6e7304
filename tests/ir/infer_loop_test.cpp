#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/infer.h"
#include "tests/ir/local_ops.h"
#include "tests/ir/loop_maker.h"

namespace scanloom::ir {
namespace {

using local::BranchMaker;
using local::LoopMaker;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class InferLoopTest : public ::testing::Test {
 protected:
  ValueId argument(DType dtype, std::vector<Dim> dims) {
    return m.add_argument(m.top(), Type::of(dtype, std::move(dims)));
  }
  ValueId constant(Tensor value) { return Builder(m, m.top()).constant(std::move(value)); }
  ValueId count(std::int64_t steps) { return constant(Tensor::scalar(steps)); }
  std::string run(bool evaluate = false) {
    std::vector<Type> types;
    for (const ValueId id : m.region(m.top()).args) types.push_back(m.value(id).type);
    auto inferred = infer(m, types, m.dims, {.evaluate = evaluate});
    if (!inferred) return inferred.error().text();
    result = *std::move(inferred);
    return "";
  }
  std::string type(ValueId id) { return to_string(result.types[id.index], m.dims); }

  Module m;
  Inference result;
};

TEST_F(InferLoopTest, ScanOverASymbolicAxis) {
  const ValueId x = argument(DType::f32, {m.dims.symbol("T"), 4});
  const ValueId h = argument(DType::f32, {4});
  // The trip count as front-ends make it: the size of the scanned axis, followed as an integer.
  const ValueId sizes =
      LoopMaker::append(m, m.top(), local::sizes_op, {argument(DType::f32, {m.dims.symbol("T")})});
  LoopMaker loop(
      m, m.top(),
      {.has_trip_count = true, .carried = 1, .scanned = {{.axis = 0}}, .stacked = {{.axis = 1}}},
      {sizes, h, x});
  const ValueId next = loop.op(local::plus_op, {loop.arg(0), loop.arg(1)});
  loop.close({next, next});
  EXPECT_EQ(run(), "");
  EXPECT_EQ(type(loop.arg(1)), "f32[4]");
  EXPECT_EQ(type(loop.out(0)), "f32[4]");
  EXPECT_EQ(type(loop.out(1)), "f32[4,T]");
  EXPECT_FALSE(result.varying_sizes);
}

TEST_F(InferLoopTest, GrowingStatesAreWidened) {
  const ValueId state = argument(DType::f32, {0, 4});
  const ValueId row = argument(DType::f32, {1, 4});
  LoopMaker loop(m, m.top(),
                 {.has_trip_count = true,
                  .captured = 1,
                  .carried = 1,
                  .stacked = {{.axis = 0, .insert = false}}},
                 {count(5), row, state});
  const ValueId grown = loop.op(local::join_op, {loop.arg(1), loop.arg(0)});
  loop.close({grown, grown});
  EXPECT_EQ(run(), "");
  EXPECT_THAT(type(loop.arg(1)), MatchesRegex("f32\\[\\?[0-9]+,4\\]"));
  EXPECT_THAT(type(loop.out(0)), MatchesRegex("f32\\[\\?[0-9]+,4\\]"));
  EXPECT_THAT(type(loop.out(1)), MatchesRegex("f32\\[\\?[0-9]+,4\\]"));
  EXPECT_NE(type(loop.out(0)), type(loop.arg(1)));
  EXPECT_TRUE(result.varying_sizes);
}

TEST_F(InferLoopTest, FixedSizesStayAsTheyEnter) {
  const ValueId state = argument(DType::f32, {m.dims.symbol("N"), 4});
  const ValueId row = argument(DType::f32, {1, 4});
  LoopMaker loop(m, m.top(),
                 {.has_trip_count = true, .fixed_sizes = true, .captured = 1, .carried = 1},
                 {count(5), row, state});
  loop.close({loop.op(local::join_op, {loop.arg(1), loop.arg(0)})});
  EXPECT_EQ(run(), "");
  EXPECT_EQ(type(loop.arg(1)), "f32[N,4]");
  EXPECT_EQ(type(loop.out(0)), "f32[N,4]");
  EXPECT_FALSE(result.varying_sizes);
}

TEST_F(InferLoopTest, ChangingRanksBecomeUnranked) {
  LoopMaker loop(m, m.top(), {.has_trip_count = true, .carried = 1},
                 {count(5), argument(DType::f32, {1, 1, 1})});
  loop.close({loop.op(local::drop_op, {loop.arg(0)})});
  EXPECT_EQ(run(), "");
  EXPECT_EQ(type(loop.out(0)), "f32[*]");
}

TEST_F(InferLoopTest, KindsMustStay) {
  LoopMaker loop(m, m.top(), {.has_trip_count = true, .carried = 1},
                 {count(5), argument(DType::f32, {2})});
  loop.close({loop.op(local::sizes_op, {loop.arg(0)})});
  EXPECT_THAT(run(),
              HasSubstr("a loop node: state 0 enters a step as f32[2] and leaves it as i64[1]"));
}

TEST_F(InferLoopTest, CarriedValuesAreNotKnownInsideUnlessTheyPassThrough) {
  const ValueId zero = constant(Tensor::scalar(std::int64_t{0}));
  LoopMaker loop(m, m.top(), {.has_trip_count = true, .carried = 2}, {count(5), zero, zero});
  loop.close(
      {loop.op(local::plus_op, {loop.arg(0), loop.constant(Tensor::scalar(std::int64_t{1}))}),
       loop.arg(1)});
  EXPECT_EQ(run(true), "");
  EXPECT_EQ(result.known[loop.arg(0).index], nullptr);
  EXPECT_NE(result.known[loop.arg(1).index], nullptr);
  EXPECT_EQ(result.known[loop.out(0).index], nullptr);
  EXPECT_NE(result.known[loop.out(1).index], nullptr);
}

// The size that decides is known in the first inference of the body, and no longer in the next.
TEST_F(InferLoopTest, ConditionsOfSizesThatChangeAreNotKnown) {
  const ValueId row = argument(DType::f32, {1});
  const ValueId four = constant(Tensor::scalar(std::int64_t{4}));
  LoopMaker loop(m, m.top(),
                 {.has_trip_count = true, .captured = 2, .carried = 1, .stacked = {{.axis = 0}}},
                 {count(7), row, four, row});
  const ValueId length = loop.op(local::sizes_op, {loop.arg(2)});
  const ValueId is_short = loop.op(local::before_op, {length, loop.arg(1)});
  BranchMaker branch(m, loop.body(), is_short, {loop.arg(0)}, 1);
  branch.close(0, {branch.arg(0, 0)});
  branch.close(1, {branch.op(1, local::plus_op, {branch.arg(1, 0), branch.arg(1, 0)})});
  loop.close({loop.op(local::join_op, {loop.arg(2), loop.arg(0)}), branch.out(0)});
  EXPECT_EQ(run(true), "");
  EXPECT_TRUE(result.varying_sizes);
  EXPECT_EQ(result.taken_branch[branch.node().index], -1);
  EXPECT_TRUE(result.visited[branch.side(0).index]);
  EXPECT_TRUE(result.visited[branch.side(1).index]);
}

TEST_F(InferLoopTest, ZeroStepsKeepTheInitialState) {
  const ValueId start = constant(Tensor::scalar(std::int64_t{7}));
  const ValueId x = argument(DType::f32, {0, 4});
  LoopMaker loop(m, m.top(),
                 {.has_trip_count = true,
                  .carried = 1,
                  .scanned = {{.axis = 0}},
                  .stacked = {{.axis = 0}, {.axis = 0}, {.axis = 0, .insert = false}}},
                 {count(-3), start, x});
  const ValueId next = loop.op(local::plus_op, {loop.arg(0), loop.arg(0)});
  loop.close({next, loop.arg(1), loop.op(local::filter_op, {loop.arg(1)}),
              loop.op(local::filter_op, {loop.arg(1)})});
  EXPECT_EQ(run(true), "");
  EXPECT_EQ(type(loop.out(0)), "i64[]");
  EXPECT_EQ(to_integers(*result.known[loop.out(0).index]->tensor), std::vector<std::int64_t>{7});
  EXPECT_EQ(type(loop.out(1)), "f32[0,4]");
  EXPECT_EQ(type(loop.out(2)), "f32[0,?2]");
  EXPECT_EQ(type(loop.out(3)), "f32[0]");
}

TEST_F(InferLoopTest, WhatZeroStepsNeverRunIsNoError) {
  const ValueId low = constant(Tensor::scalar(std::int64_t{-5}));
  LoopMaker loop(m, m.top(), {.has_trip_count = true, .captured = 2, .carried = 1},
                 {count(0), low, argument(DType::f32, {3}), low});
  const ValueId dropped = loop.op(local::drop_op, {loop.arg(1)});
  loop.close({loop.op(local::check_op, {loop.arg(0)})});
  EXPECT_EQ(run(true), "");
  EXPECT_EQ(type(dropped), "f32[*]");
}

TEST_F(InferLoopTest, FaultsInCertainStepsAreErrors) {
  const ValueId low = constant(Tensor::scalar(std::int64_t{-5}));
  LoopMaker loop(m, m.top(), {.has_trip_count = true, .captured = 1, .carried = 1},
                 {count(1), low, low});
  loop.close({loop.op(local::check_op, {loop.arg(0)})});
  EXPECT_THAT(run(true), HasSubstr("a check node: value -5 is less than 0"));
}

TEST_F(InferLoopTest, EarlyEndsLeaveTheNumberOfRowsOpen) {
  const ValueId go = argument(DType::boolean, {});
  const ValueId x = argument(DType::f32, {4});
  const LoopPorts ports{
      .has_trip_count = true, .has_keep_going = true, .captured = 2, .stacked = {{.axis = 0}}};
  LoopMaker open(m, m.top(), ports, {count(5), go, x});
  open.close({open.arg(0), open.arg(1)});
  LoopMaker never(m, m.top(), ports, {count(5), go, x});
  never.close({never.constant(Tensor::scalar(true)), never.arg(1)});
  LoopMaker guarded(
      m, m.top(),
      {.has_trip_count = true, .has_condition = true, .captured = 1, .stacked = {{.axis = 0}}},
      {count(5), go, x});
  guarded.close({guarded.arg(0)});
  LoopMaker closed(m, m.top(), {.has_condition = true, .captured = 1, .stacked = {{.axis = 0}}},
                   {constant(Tensor::scalar(false)), x});
  closed.close({closed.arg(0)});
  EXPECT_EQ(run(), "");
  EXPECT_THAT(type(open.out(0)), MatchesRegex("f32\\[\\?[0-9]+,4\\]"));
  EXPECT_EQ(type(never.out(0)), "f32[5,4]");
  EXPECT_THAT(type(guarded.out(0)), MatchesRegex("f32\\[\\?[0-9]+,4\\]"));
  EXPECT_EQ(type(closed.out(0)), "f32[0,4]");
}

TEST_F(InferLoopTest, OneStepIsTakenBeforeTheBodySaysWhetherToGoOn) {
  const ValueId go = argument(DType::boolean, {});
  const ValueId x = argument(DType::f32, {4});
  const LoopPorts ports{
      .has_trip_count = true, .has_keep_going = true, .captured = 2, .stacked = {{.axis = 0}}};
  LoopMaker once(m, m.top(), ports, {count(1), go, x});
  once.close({once.arg(0), once.arg(1)});
  LoopMaker ends(m, m.top(), ports, {count(5), go, x});
  ends.close({ends.constant(Tensor::scalar(false)), ends.arg(1)});
  LoopMaker never(m, m.top(), ports, {count(0), go, x});
  never.close({never.constant(Tensor::scalar(false)), never.arg(1)});
  EXPECT_EQ(run(), "");
  EXPECT_EQ(type(once.out(0)), "f32[1,4]");
  EXPECT_EQ(type(ends.out(0)), "f32[1,4]");
  EXPECT_EQ(type(never.out(0)), "f32[0,4]");
}

TEST_F(InferLoopTest, RowsOfEqualSizeConcatenate) {
  const ValueId x = argument(DType::f32, {6, 4});
  LoopMaker loop(m, m.top(),
                 {.has_trip_count = true,
                  .scanned = {{.axis = 0, .stride = 2, .part = 2, .squeeze = false}},
                  .stacked = {{.axis = 0, .insert = false}}},
                 {count(3), x});
  loop.close({loop.op(local::join_op, {loop.arg(0), loop.arg(0)})});
  EXPECT_EQ(run(), "");
  EXPECT_EQ(type(loop.arg(0)), "f32[2,4]");
  EXPECT_EQ(type(loop.out(0)), "f32[12,4]");
}

TEST_F(InferLoopTest, SizesThatDifferFromStepToStepStayInside) {
  const ValueId x = argument(DType::f32, {3, 4});
  LoopMaker loop(m, m.top(),
                 {.has_trip_count = true,
                  .scanned = {{.axis = 0}},
                  .stacked = {{.axis = 0, .insert = false}, {.axis = 0}}},
                 {count(3), x});
  const ValueId some = loop.op(local::filter_op, {loop.arg(0)});
  loop.close({some, some});
  EXPECT_EQ(run(), "");
  EXPECT_THAT(type(loop.out(0)), MatchesRegex("f32\\[\\?[0-9]+\\]"));
  EXPECT_THAT(type(loop.out(1)), MatchesRegex("f32\\[3,\\?[0-9]+\\]"));
  EXPECT_NE(result.types[loop.out(0).index].dims[0], result.types[some.index].dims[0]);
}

TEST_F(InferLoopTest, PortsThatDoNotFitAreErrors) {
  const ValueId x = argument(DType::f32, {3});
  LoopMaker loop(m, m.top(), {.has_trip_count = true, .scanned = {{.axis = 1}}}, {count(3), x});
  loop.close({});
  EXPECT_THAT(run(), HasSubstr("scanned value 0 is f32[3], which has no axis 1 to scan"));
  m.node(loop.node()).loop->scanned[0].axis = 0;
  m.node(loop.node()).loop->stacked = {{.axis = 2}};
  m.add_output(loop.node(), Type::unranked(DType::f32));
  loop.close({loop.arg(0)});
  EXPECT_THAT(run(),
              HasSubstr("stacked result 0: rows are f32[], which leaves no axis 2 to stack"));
  m.region(loop.body()).yields.clear();
  EXPECT_THAT(run(), HasSubstr("0 yields"));
}

TEST_F(InferLoopTest, TripCountsAndConditionsHaveTheirTypes) {
  LoopMaker loop(m, m.top(), {.has_trip_count = true}, {argument(DType::f32, {})});
  loop.close({});
  EXPECT_THAT(run(), HasSubstr("the trip count must be i64, not f32[]"));
}

// Each of the bodies changes a size, so each would be inferred again with all bodies inside it.
TEST_F(InferLoopTest, AThousandNestedBodies) {
  const ValueId steps = count(2);
  std::vector<LoopMaker> loops;
  RegionId region = m.top();
  ValueId captured = steps, state = argument(DType::f32, {1});
  for (int depth = 0; depth < 1000; ++depth) {
    loops.emplace_back(m, region, LoopPorts{.has_trip_count = true, .captured = 1, .carried = 1},
                       std::vector<ValueId>{captured, captured, state});
    captured = loops.back().arg(0);
    state = loops.back().arg(1);
    region = loops.back().body();
  }
  ValueId inner = loops.back().op(local::join_op, {state, state});
  for (std::size_t depth = loops.size(); depth-- > 0;) {
    loops[depth].close({inner});
    if (depth > 0)
      inner = loops[depth - 1].op(local::join_op, {loops[depth].out(0), loops[depth].out(0)});
  }
  EXPECT_EQ(run(), "");
  EXPECT_EQ(type(loops[0].out(0)), "f32[*]");
}

TEST_F(InferLoopTest, AFewNestedBodiesKeepTheirRanks) {
  const ValueId steps = count(2);
  LoopMaker outer(m, m.top(), {.has_trip_count = true, .captured = 1, .carried = 1},
                  {steps, steps, argument(DType::f32, {1})});
  LoopMaker inner(m, outer.body(), {.has_trip_count = true, .carried = 1},
                  {outer.arg(0), outer.arg(1)});
  inner.close({inner.op(local::join_op, {inner.arg(0), inner.arg(0)})});
  outer.close({inner.out(0)});
  EXPECT_EQ(run(), "");
  EXPECT_THAT(type(outer.out(0)), MatchesRegex("f32\\[\\?[0-9]+\\]"));
}

}  // namespace
}  // namespace scanloom::ir
