#include "plan/bind/fusion.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/parse.h"
#include "ops/ops.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

using tensor::Shape;

/// The kernels of the calls that the graph becomes, in order.
std::string kernels_of(const std::string& graph, const std::vector<Shape>& shapes) {
  const Expected<ir::Module> module = ir::parse("module \"m\" {\n" + graph + "}\n", ops::find_op);
  if (!module) return module.error().message();
  const auto binding = plan::bind(make_plan(*module, {}), shapes);
  if (!binding) return binding.error().message();
  std::string names;
  for (const BoundCall& call : (*binding)->calls)
    names += (names.empty() ? "" : " ") + std::string(call.kernel.name());
  return names;
}

TEST(Fusion, element_wise_nodes_are_one_call) {
  EXPECT_EQ(kernels_of(R"(  graph(%0 "x": f32[T,4], %1 "z": f32[4]) {
    %2 = sigmoid(%0) : f32[T,4]
    %3 = mul(%0, %2) : f32[T,4]
    %4 = add(%3, %1) : f32[T,4]
    yield %4 "y"
  }
)",
                       {{3, 4}, {4}}),
            "pointwise");
}

TEST(Fusion, two_chains_that_meet_are_one_call) {
  EXPECT_EQ(kernels_of(R"(  graph(%0 "x": f32[T,4], %1 "z": f32[T,4]) {
    %2 = sigmoid(%0) : f32[T,4]
    %3 = tanh(%1) : f32[T,4]
    %4 = mul(%2, %3) : f32[T,4]
    yield %4 "y"
  }
)",
                       {{3, 4}, {3, 4}}),
            "pointwise");
}

TEST(Fusion, rows_and_their_reductions_are_one_call) {
  EXPECT_EQ(kernels_of(R"(  graph(%0 "x": f32[T,40], %1 "z": f32[T,40]) {
    %2 = add(%0, %1) : f32[T,40]
    %3 = reduce(%2) {kind = "mean", axes = [-1], keepdims = 1} : f32[T,1]
    %4 = sub(%2, %3) : f32[T,40]
    %5 = reduce(%4) {kind = "l2", axes = [-1], keepdims = 1} : f32[T,1]
    %6 = div(%4, %5) : f32[T,40]
    yield %6 "y", %3 "mean"
  }
)",
                       {{3, 40}, {3, 40}}),
            "rows");
}

// The cumulative sum needs the exponentials before they can be negated with it.
TEST(Fusion, a_reader_outside_ends_a_group) {
  EXPECT_EQ(kernels_of(R"(  graph(%0 "x": f32[T,4]) {
    %1 = constant i64[] [0]
    %2 = exp(%0) : f32[T,4]
    %3 = cumsum(%2, %1) {exclusive = 0, reverse = 0} : f32[T,4]
    %4 = add(%2, %3) : f32[T,4]
    %5 = neg(%4) : f32[T,4]
    yield %5 "y"
  }
)",
                       {{3, 4}}),
            "pointwise reference pointwise");
}

TEST(Fusion, a_convolution_and_what_follows_are_one_call) {
  const std::string head =
      R"(  graph(%0 "x": f32[1,4,5,6], %1 "w": f32[8,4,3,3], %2 "z": f32[1,8,3,4]) {
    %3 = conv(%0, %1) {group = 1} : f32[1,8,3,4]
    %4 = sigmoid(%3) : f32[1,8,3,4]
    %5 = mul(%3, %4) : f32[1,8,3,4]
    %6 = add(%2, %5) : f32[1,8,3,4]
)";
  const std::vector<Shape> shapes = {{1, 4, 5, 6}, {8, 4, 3, 3}, {1, 8, 3, 4}};
  EXPECT_EQ(kernels_of(head + "    yield %6 \"y\"\n  }\n", shapes), "conv");
  EXPECT_EQ(kernels_of(head + "    yield %6 \"y\", %3 \"c\"\n  }\n", shapes), "conv pointwise");
  EXPECT_EQ(kernels_of(head + "    yield %6 \"y\", %5 \"c\"\n  }\n", shapes), "conv pointwise");
}

// The program of a group begins with one convolution, so the second one is a call of its own.
TEST(Fusion, a_sum_of_convolutions_is_computed_with_one_of_them) {
  EXPECT_EQ(
      kernels_of(R"(  graph(%0 "x": f32[1,4,5,6], %1 "w": f32[8,4,3,3], %2 "v": f32[8,4,3,3]) {
    %3 = conv(%0, %1) {group = 1} : f32[1,8,3,4]
    %4 = conv(%0, %2) {group = 1} : f32[1,8,3,4]
    %5 = add(%3, %4) : f32[1,8,3,4]
    %6 = relu(%5) : f32[1,8,3,4]
    yield %6 "y"
  }
)",
                 {{1, 4, 5, 6}, {8, 4, 3, 3}, {8, 4, 3, 3}}),
      "conv conv");
}

TEST(Fusion, other_sizes_and_other_axes_are_calls_of_their_own) {
  EXPECT_EQ(kernels_of(R"(  graph(%0 "x": f32[T,40], %1 "z": f32[40]) {
    %2 = exp(%1) : f32[40]
    %3 = reduce(%0) {kind = "sum", axes = [0], keepdims = 1} : f32[1,40]
    %4 = div(%0, %3) : f32[T,40]
    %5 = mul(%4, %2) : f32[T,40]
    yield %5 "y"
  }
)",
                       {{3, 40}, {40}}),
            "pointwise reduce pointwise");
}

}  // namespace
}  // namespace scanloom::plan
