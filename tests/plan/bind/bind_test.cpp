#include <gtest/gtest.h>

#include <string>

#include "ir/parse.h"
#include "ops/ops.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

using tensor::Shape;

Expected<std::shared_ptr<const Binding>> bind_text(const char* text,
                                                   const std::vector<Shape>& shapes) {
  Expected<ir::Module> module = ir::parse(text, ops::find_op);
  if (!module) return std::move(module).error();
  return plan::bind(make_plan(*std::move(module), {}), shapes);
}

constexpr const char* kTwoInputs = R"(module "sizes" {
  graph(%0 "x": f32[T,4], %1 "y": f32[T,4]) {
    %2 = add(%0, %1) : f32[T,4]
    %3 = transpose(%2) {perm = [1, 0]} : f32[4,T]
    yield %3 "z"
  }
}
)";

TEST(Bind, ContradictingSymbolsNameBothInputsAndNumbers) {
  const auto binding = bind_text(kTwoInputs, {{3, 4}, {5, 4}});
  ASSERT_FALSE(binding);
  const std::string message = binding.error().message();
  EXPECT_EQ(binding.error().code(), Code::invalid_argument);
  for (const char* part : {"'x'", "'y'", "'T'", "3", "5"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Bind, WrongRankAndSizeAreNamed) {
  const auto rank = bind_text(kTwoInputs, {{3}, {3, 4}});
  ASSERT_FALSE(rank);
  EXPECT_NE(rank.error().message().find("rank 2, but the feed has rank 1"), std::string::npos);
  const auto size = bind_text(kTwoInputs, {{3, 5}, {3, 4}});
  ASSERT_FALSE(size);
  EXPECT_NE(size.error().message().find("size 4 on axis 1, but the feed has 5"), std::string::npos);
}

TEST(Bind, ViewsAreNotCalls) {
  const auto binding = bind_text(kTwoInputs, {{3, 4}, {3, 4}});
  ASSERT_TRUE(binding) << binding.error().message();
  ASSERT_EQ((*binding)->calls.size(), 2u);  // the sum, and the copy of its transpose to the result
  EXPECT_STREQ((*binding)->calls[0].kernel.name(), "pointwise");
  EXPECT_STREQ((*binding)->calls[1].kernel.name(), "copy");
}

// States of zeros are constants of the binding, as their size is.
TEST(Bind, LstmWeightsArePackedOnceAlsoWithStatesOfZeros) {
  const std::string begin = R"(module "layer" {
  graph(%0 "x": f32[T,B,1]) {
    %1 = constant f32[1,4,1] [1, 2, 3, 4]
    %2 = constant f32[1,4,1] [5, 6, 7, 8]
    %3 = constant f32[] [0]
    %4 = shape(%0) {start = 1, end = 2} : i64[1]
    %5 = constant i64[1] [1]
    %6 = concat(%5, %4, %5) {axis = 0} : i64[3]
    %7 = expand(%3, %6) : f32[1,B,1]
)";
  const std::string end =
      R"( {direction = "forward", hidden_size = 1, layout = 0, input_forget = 0} : )"
      R"(f32[T,1,B,1], f32[1,B,1], f32[1,B,1]
    yield %8 "y"
  }
}
)";
  const auto scratch = [&](const char* operands) -> std::int64_t {
    const std::string text = begin + "    %8, %9, %10 = lstm(" + operands + ")" + end;
    const auto binding = bind_text(text.c_str(), {{5, 2, 1}});
    EXPECT_TRUE(binding) << binding.error().message();
    if (!binding) return -1;
    EXPECT_STREQ((*binding)->calls[0].kernel.name(), "lstm");
    return (*binding)->scratch_bytes;
  };
  EXPECT_EQ(scratch("%0, %1, %2, _, _, %7, %7, _"), scratch("%0, %1, %2, _, _, _, _, _"));
}

TEST(Bind, ResultsAndRowsAreWrittenWhereTheyBelong) {
  const auto binding = bind_text(R"(module "rows" {
  graph(%0 "xs": f32[T,4]) {
    %1 = dim(%0) {axis = 0} : i64[]
    %2 = loop trip(%1) scanned(%0 axis 0) stacked(axis 0) : f32[T,4] {
      body(%3: f32[4]) {
        %4 = exp(%3) : f32[4]
        yield %4
      }
    }
    yield %2 "ys"
  }
}
)",
                                 {{6, 4}});
  ASSERT_TRUE(binding) << binding.error().message();
  EXPECT_EQ((*binding)->calls.size(), 1u);
  EXPECT_EQ((*binding)->arena_bytes, 0);
  EXPECT_NE(print(**binding).find("16 bytes per step"), std::string::npos);
}

TEST(Bind, RowsOfALayerThatNothingReadsLieOnEachOther) {
  const auto arena_of = [](std::int64_t steps) {
    const auto binding = bind_text(R"(module "last" {
  graph(%0 "x": f32[T,2,4], %1 "w": f32[2,32,4], %2 "r": f32[2,32,8]) {
    %3, %4, %5 = lstm(%0, %1, %2, _, _, _, _, _) {direction = "bidirectional", hidden_size = 8, layout = 0, input_forget = 0} : f32[T,2,2,8], f32[2,2,8], f32[2,2,8]
    yield %4 "y_h"
  }
}
)",
                                   {{steps, 2, 4}, {2, 32, 4}, {2, 32, 8}});
    EXPECT_TRUE(binding) << binding.error().message();
    return binding ? (*binding)->arena_bytes : -1;
  };
  EXPECT_EQ(arena_of(3), arena_of(3000));
}

constexpr const char* kNumberedMaxima = R"(module "maxima" {
  graph(%0 "x": f32[1,2,5,8]) {
    %1, %2 = max_pool(%0) {ceil_mode = 0, kernel = [2, 2], storage_order = 0} : f32[1,2,4,7], i64[1,2,4,7]
    yield %1 "y"
  }
}
)";

TEST(Bind, ResultsThatNothingReadsAreLeftOut) {
  const auto binding = bind_text(kNumberedMaxima, {{1, 2, 5, 8}});
  ASSERT_TRUE(binding) << binding.error().message();
  ASSERT_EQ((*binding)->calls.size(), 1u);
  EXPECT_STREQ((*binding)->calls[0].kernel.name(), "pool");
  EXPECT_EQ((*binding)->arena_bytes, 0);
  EXPECT_NE(print(**binding).find("f32[1,2,4,7], -"), std::string::npos) << print(**binding);
}

TEST(Bind, ResultsUnderOtherSizesAreWrittenWhereTheyBelong) {
  const auto binding = bind_text(R"(module "views" {
  graph(%0 "x": f32[T,4]) {
    %1 = exp(%0) : f32[T,4]
    %2 = unsqueeze(%1) {axes = [1]} : f32[T,1,4]
    %3 = flatten(%2) {axis = 0} : f32[1,4*T]
    yield %3 "flat"
  }
}
)",
                                 {{6, 4}});
  ASSERT_TRUE(binding) << binding.error().message();
  EXPECT_EQ((*binding)->calls.size(), 1u);
  EXPECT_EQ((*binding)->arena_bytes, 0);
}

TEST(Bind, AValueWantedTwiceIsCopiedOnce) {
  const auto binding = bind_text(R"(module "views" {
  graph(%0 "x": f32[T,4]) {
    %1 = exp(%0) : f32[T,4]
    %2 = unsqueeze(%1) {axes = [1]} : f32[T,1,4]
    %3 = transpose(%1) {perm = [1, 0]} : f32[4,T]
    %4 = unsqueeze(%3) {axes = [0]} : f32[1,4,T]
    yield %2 "y", %1 "same", %4 "across"
  }
}
)",
                                 {{6, 4}});
  ASSERT_TRUE(binding) << binding.error().message();
  EXPECT_EQ((*binding)->calls.size(), 3u);  // exp, and copies to the second and third result
  EXPECT_EQ((*binding)->arena_bytes, 0);
}

TEST(Bind, ABranchThatSizesDecideLeavesOneSide) {
  const auto binding = bind_text(R"(module "sides" {
  graph(%0 "x": f32[T]) {
    %1 = size(%0) : i64[]
    %2 = constant i64[] [3]
    %3 = equal(%1, %2) : boolean[]
    %4 = branch(%3, %0) : f32[T] {
      then(%5: f32[T]) {
        %6 = neg(%5) : f32[T]
        yield %6
      }
      else(%7: f32[T]) {
        %8 = exp(%7) : f32[T]
        yield %8
      }
    }
    yield %4 "y"
  }
}
)",
                                 {{3}});
  ASSERT_TRUE(binding) << binding.error().message();
  EXPECT_TRUE((*binding)->branches.empty());
  EXPECT_EQ((*binding)->code.front().op, Op::call);
}

}  // namespace
}  // namespace scanloom::plan
