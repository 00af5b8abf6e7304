#include "plan/in_place.h"

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

std::shared_ptr<const Binding> bound(const std::string& text) {
  Expected<ir::Module> module = ir::parse(text, ops::find_op);
  EXPECT_TRUE(module) << module.error().message();
  const std::vector<tensor::Shape> shapes{{4, 2}, {9, 2}, {1}};
  auto binding = plan::bind(make_plan(*std::move(module), {}), shapes);
  EXPECT_TRUE(binding) << binding.error().message();
  return *binding;
}

bool updates_in_place(const std::string& body) {
  return bound(loop_with(body))->loops[0].carried[0].in_place;
}

TEST(InPlace, AStateIsWrittenToWhereItLies) {
  const auto binding = bound(loop_with(R"(
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

TEST(InPlace, NotWhereBothAreRead) {
  EXPECT_FALSE(updates_in_place(R"(
        %8 = scatter_nd(%6, %5, %7) {reduction = "none"} : f32[4,2]
        %9 = gather_nd(%8, %5) {batch_dims = 0} : f32[2]
        %10 = gather_nd(%6, %5) {batch_dims = 0} : f32[2]
        %11 = sub(%9, %10) : f32[2]
        yield %8, %11)"));
}

TEST(InPlace, NotWhatAViewShows) {
  EXPECT_FALSE(updates_in_place(R"(
        %8 = constant i64[2] [2, 4]
        %9 = reshape(%6, %8) {allowzero = 0} : f32[2,4]
        %12 = constant i64[1] [1]
        %10 = reduce(%9, %12) {kind = "sum", keepdims = 0} : f32[2]
        %11 = scatter_nd(%6, %5, %7) {reduction = "none"} : f32[4,2]
        yield %11, %10)"));
}

TEST(InPlace, NotWhatIsStacked) {
  const auto binding = bound(R"(module "table" {
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

TEST(InPlace, NotWhatItWritesItself) {
  EXPECT_FALSE(updates_in_place(R"(
        %10 = constant i64[4] [3, 2, 1, 0]
        %8 = unsqueeze(%10) {axes = [1]} : i64[4,1]
        %9 = scatter_nd(%6, %8, %6) {reduction = "none"} : f32[4,2]
        yield %9, %7)"));
}

}  // namespace
}  // namespace scanloom::plan
