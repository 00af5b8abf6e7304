// The lanes of an element program, counted with numbers and with symbols.
#include "ops/element_program.h"

#include <gtest/gtest.h>

#include "ops/ops.h"
#include "tensor/dim.h"

namespace scanloom::ops {
namespace {

TEST(EqualLanes, OneNumberOfElementsBesidesOne) {
  EqualLanes<std::int64_t> lanes;
  EXPECT_TRUE(lanes.add(1));
  EXPECT_EQ(lanes.lanes(), 1);
  EXPECT_TRUE(lanes.add(40));
  EXPECT_TRUE(lanes.add(1));
  EXPECT_TRUE(lanes.add(40));
  EXPECT_FALSE(lanes.add(41));
  EXPECT_EQ(lanes.lanes(), 40);
}

TEST(EqualLanes, SymbolsAreCompared) {
  tensor::DimTable dims;
  const tensor::Dim n = dims.symbol("N"), m = dims.symbol("M");
  EqualLanes<tensor::Dim> lanes;
  EXPECT_TRUE(lanes.add(n));
  EXPECT_TRUE(lanes.add(tensor::Dim(1)));
  EXPECT_TRUE(lanes.add(n));
  EXPECT_FALSE(lanes.add(m));
  EXPECT_FALSE(lanes.add(tensor::Dim(4)));
}

TEST(ElementPrograms, ElementwiseOperatorsAndViewsJoin) {
  for (const ir::OpDef* const op : {&tanh_op, &where_op, &reshape_op, &slice_op})
    EXPECT_TRUE(joins_element_program(*op)) << op->name;
  for (const ir::OpDef* const op : {&contract_op, &reduce_op, &gather_op, &ir::constant_op})
    EXPECT_FALSE(joins_element_program(*op)) << op->name;
}

}  // namespace
}  // namespace scanloom::ops
