#include "plan/bind/in_place.h"

#include <gtest/gtest.h>

#include "ir/parse.h"
#include "ir/walk.h"
#include "ops/ops.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

/// A loop over a table and rows, whose body is `body` over the table %6, an index %5 and a row %7.
std::string loop_with(const std::string& body) {
  return R"(module "table" {
  graph(%0 "t": f32[4,2], %1 "xs": f32[9,2], %2 "at": i64[1]) {
    %3, %4 = loop captured(%2) carried(%0) scanned(%1 axis 0) stacked(axis 0) : f32[4,2], f32[9,2] {
      body(%5: i64[1], %6: f32[4,2], %7: f32[2]) {
)" + body +
         R"(
      }
    }
    yield %3 "table", %4 "rows"
  }
}
)";
}

std::shared_ptr<const Binding> bound_table(const std::string& text,
                                           const std::vector<tensor::Shape>& shapes = {
                                               {4, 2}, {9, 2}, {1}}) {
  Expected<ir::Module> module = ir::parse(text, ops::find_op);
  EXPECT_TRUE(module) << module.error().message();
  auto binding = plan::bind(make_plan(*std::move(module), {}), shapes);
  EXPECT_TRUE(binding) << binding.error().message();
  return *binding;
}

bool updates_in_place(const std::string& body) {
  return bound_table(loop_with(body))->loops[0].carried[0].in_place;
}

TEST(InPlace, AStateIsWrittenToWhereItLies) {
  const auto binding = bound_table(loop_with(R"(
        %8 = gather_nd(%6, %5) {batch_dims = 0} : f32[2]
        %9 = add(%7, %8) : f32[2]
        %10 = scatter_nd(%6, %5, %9) {reduction = "none"} : f32[4,2]
        yield %10, %9)"));
  EXPECT_TRUE(binding->loops[0].carried[0].in_place);
  const std::string text = print(*binding);
  EXPECT_NE(text.find("updated in place"), std::string::npos) << text;
}

TEST(InPlace, ScattersFollowEachOther) {
  EXPECT_TRUE(updates_in_place(R"(
        %8 = scatter_nd(%6, %5, %7) {reduction = "none"} : f32[4,2]
        %9 = gather_nd(%8, %5) {batch_dims = 0} : f32[2]
        %10 = scatter_nd(%8, %5, %9) {reduction = "add"} : f32[4,2]
        yield %10, %9)"));
}

TEST(InPlace, AScatterWaitsForWhatReadsTheStateBefore) {
  EXPECT_TRUE(updates_in_place(R"(
        %8 = scatter_nd(%6, %5, %7) {reduction = "none"} : f32[4,2]
        %9 = gather_nd(%6, %5) {batch_dims = 0} : f32[2]
        yield %8, %9)"));
}

TEST(InPlace, WhatReadsTheStateBeforeMovesInFrontOfTheScatter) {
  EXPECT_TRUE(updates_in_place(R"(
        %8 = scatter_nd(%6, %5, %7) {reduction = "none"} : f32[4,2]
        %9 = gather_nd(%8, %5) {batch_dims = 0} : f32[2]
        %10 = gather_nd(%6, %5) {batch_dims = 0} : f32[2]
        %11 = sub(%9, %10) : f32[2]
        yield %8, %11)"));
}

TEST(InPlace, NotWhereTheStateBeforeIsReadByWhatWasWritten) {
  EXPECT_FALSE(updates_in_place(R"(
        %8 = constant i64[1] [1]
        %9 = scatter_nd(%6, %8, %7) {reduction = "none"} : f32[4,2]
        %10 = gather_nd(%9, %5) {batch_dims = 0} : f32[2]
        %11 = cast(%10) {to = i64} : i64[2]
        %12 = gather(%6, %11) {axis = 0} : f32[2,2]
        %13 = reduce(%12) {kind = "sum", axes = [0], keepdims = 0} : f32[2]
        yield %9, %13)"));
}

TEST(InPlace, AScatterWaitsForWhatAViewShows) {
  EXPECT_TRUE(updates_in_place(R"(
        %11 = scatter_nd(%6, %5, %7) {reduction = "none"} : f32[4,2]
        %8 = constant i64[2] [2, 4]
        %9 = reshape(%6, %8) {allowzero = 0} : f32[2,4]
        %12 = constant i64[1] [1]
        %10 = reduce(%9, %12) {kind = "sum", keepdims = 0} : f32[2]
        yield %11, %10)"));
}

TEST(InPlace, NotWhereAViewIsReadWithWhatWasWritten) {
  EXPECT_FALSE(updates_in_place(R"(
        %8 = transpose(%6) {perm = [1, 0]} : f32[2,4]
        %9 = scatter_nd(%6, %5, %7) {reduction = "none"} : f32[4,2]
        %10 = contract(%8, %9) {spec = ""} : f32[2,2]
        %11 = constant i64[] [0]
        %12 = gather(%10, %11) {axis = 0} : f32[2]
        yield %9, %12)"));
}

TEST(InPlace, NotWhereAViewOfTheStateBeforeIsHandedOn) {
  EXPECT_FALSE(updates_in_place(R"(
        %8 = constant i64[1] [0]
        %9 = constant i64[1] [1]
        %10 = slice(%6, %8, %9, %8) : f32[1,2]
        %11 = squeeze(%10) {axes = [0]} : f32[2]
        %12 = scatter_nd(%6, %5, %7) {reduction = "none"} : f32[4,2]
        yield %12, %11)"));
}

TEST(InPlace, WhatWasWrittenIsReadAfterwards) {
  EXPECT_TRUE(updates_in_place(R"(
        %8 = scatter_nd(%6, %5, %7) {reduction = "none"} : f32[4,2]
        %9 = transpose(%8) {perm = [1, 0]} : f32[2,4]
        %10 = contract(%9, %8) {spec = ""} : f32[2,2]
        %11 = constant i64[] [0]
        %12 = gather(%10, %11) {axis = 0} : f32[2]
        yield %8, %12)"));
}

TEST(InPlace, AScatterToAViewOfTheState) {
  EXPECT_TRUE(updates_in_place(R"(
        %8 = transpose(%6) {perm = [1, 0]} : f32[2,4]
        %9 = constant i64[1,1] [0]
        %10 = constant f32[1,4] [1.0, 2.0, 3.0, 4.0]
        %11 = scatter_nd(%8, %9, %10) {reduction = "none"} : f32[2,4]
        %12 = transpose(%11) {perm = [1, 0]} : f32[4,2]
        yield %12, %7)"));
}

TEST(InPlace, NotToAViewThatIsNotTurnedBack) {
  const auto binding = bound_table(R"(module "table" {
  graph(%0 "t": f32[4,4], %1 "xs": f32[9,2], %2 "at": i64[1]) {
    %3, %4 = loop captured(%2) carried(%0) scanned(%1 axis 0) stacked(axis 0) : f32[4,4], f32[9,2] {
      body(%5: i64[1], %6: f32[4,4], %7: f32[2]) {
        %8 = transpose(%6) {perm = [1, 0]} : f32[4,4]
        %9 = constant f32[] [1.0]
        %10 = scatter_slice(%8, %9, %5) {axes = [], picked = [0], reduction = "none"} : f32[4,4]
        yield %10, %7
      }
    }
    yield %3 "table", %4 "rows"
  }
}
)",
                                   {{4, 4}, {9, 2}, {1}});
  EXPECT_FALSE(binding->loops[0].carried[0].in_place);
}

TEST(InPlace, AWindowIsWrittenToWhereItLies) {
  EXPECT_TRUE(updates_in_place(R"(
        %8 = constant i64[1] [1]
        %9 = constant i64[1] [3]
        %10 = scatter_slice(%6, %7, _, %8, %9) {axes = [0], picked = [], reduction = "none"} : f32[4,2]
        yield %10, %7)"));
}

TEST(InPlace, AWindowWhoseSizeOnlyTheRunKnows) {
  EXPECT_TRUE(updates_in_place(R"(
        %8 = constant i64[1] [4]
        %9 = constant i64[1] [0]
        %10 = slice(%6, %5, %8, %9) : f32[?0,2]
        %11 = add(%10, %7) : f32[?0,2]
        %12 = scatter_slice(%6, %11, _, %5, %8) {axes = [0], picked = [], reduction = "none"} : f32[4,2]
        yield %12, %7)"));
}

TEST(InPlace, NotWhatIsStacked) {
  const auto binding = bound_table(R"(module "table" {
  graph(%0 "t": f32[4,2], %1 "xs": f32[9,2], %2 "at": i64[1]) {
    %3, %4 = loop captured(%2) carried(%0) scanned(%1 axis 0) stacked(axis 0) : f32[4,2], f32[9,4,2] {
      body(%5: i64[1], %6: f32[4,2], %7: f32[2]) {
        %8 = scatter_nd(%6, %5, %7) {reduction = "none"} : f32[4,2]
        yield %8, %8
      }
    }
    yield %3 "table", %4 "tables"
  }
}
)");
  EXPECT_FALSE(binding->loops[0].carried[0].in_place);
}

TEST(InPlace, WhatIsWrittenIsCopiedWhereItIsAPartOfTheState) {
  EXPECT_TRUE(updates_in_place(R"(
        %10 = constant i64[4] [3, 2, 1, 0]
        %8 = unsqueeze(%10) {axes = [1]} : i64[4,1]
        %9 = scatter_nd(%6, %8, %6) {reduction = "none"} : f32[4,2]
        yield %9, %7)"));
}

}  // namespace
}  // namespace scanloom::plan
