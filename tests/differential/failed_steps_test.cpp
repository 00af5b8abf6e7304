// Errors in a loop report the same step however the loop is executed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/jit_plugin.h"
#include "interp/interpreter.h"
#include "ir/parse.h"
#include "ops/ops.h"
#include "plan/plan.h"
#include "tests/differential/ways.h"

namespace scanloom {
namespace {

using namespace differential;
using tensor::Tensor;
using ::testing::HasSubstr;

constexpr const char* kOneLoop = R"(module "one" {
  graph(%0 "x": f32[3], %1 "at": i64[T]) {
    %2 = dim(%1) {axis = 0} : i64[]
    %3 = constant f32[] [0]
    %4 = loop trip(%2) captured(%0) carried(%3) scanned(%1 axis 0) : f32[] loc("node 'sum'") {
      body(%5: f32[3], %6: f32[], %7: i64[]) {
        %8 = gather(%5, %7) {axis = 0} : f32[] loc("node 'pick'")
        %9 = add(%6, %8) : f32[]
        yield %9
      }
    }
    yield %4 "sum"
  }
})";

// Index 6 i + j in step j of step i.
constexpr const char* kNested = R"(module "nested" {
  graph(%0 "x": f32[SIZE], %1 "rows": i64[T]) {
    %2 = dim(%1) {axis = 0} : i64[]
    %3 = constant i64[] [0]
    %4 = constant f32[] [0]
    %5, %6 = loop trip(%2) captured(%0) carried(%3, %4) : i64[], f32[] loc("node 'outer'") {
      body(%7: f32[SIZE], %8: i64[], %9: f32[]) {
        %10 = constant i64[] [6]
        %11, %12 = loop trip(%10) captured(%7) carried(%8, %9) : i64[], f32[] loc("node 'inner'") {
          body(%13: f32[SIZE], %14: i64[], %15: f32[]) {
            %16 = gather(%13, %14) {axis = 0} : f32[] loc("node 'pick'")
            %17 = add(%15, %16) : f32[]
            %18 = constant i64[] [1]
            %19 = add(%14, %18) : i64[]
            yield %19, %17
          }
        }
        yield %11, %12
      }
    }
    yield %6 "sum"
  }
})";

// A state that grows, so that nothing is compiled; the third step picks element 2 of two.
constexpr const char* kGrowing = R"(module "growing" {
  graph(%0 "x": f32[1], %1 "at": i64[T]) {
    %2 = dim(%1) {axis = 0} : i64[]
    %3 = loop trip(%2) captured(%0) carried(%0) scanned(%1 axis 0) : f32[*] loc("node 'grow'") {
      body(%4: f32[1], %5: f32[*], %6: i64[]) {
        %7 = gather(%5, %6) {axis = 0} : f32[*] loc("node 'pick'")
        %8 = concat(%5, %4) {axis = 0} : f32[*]
        yield %8
      }
    }
    yield %3 "all"
  }
})";

// The matrix of a step is the scanned value times the identity; a compiled body calls the kernels.
constexpr const char* kSolving = R"(module "solving" {
  graph(%0 "x": f32[2,1], %1 "at": i64[T]) {
    %2 = dim(%1) {axis = 0} : i64[]
    %3 = loop trip(%2) carried(%0) scanned(%1 axis 0) : f32[2,1] loc("node 'march'") {
      body(%4: f32[2,1], %5: i64[]) {
        %6 = constant f32[2,2] [1, 0, 0, 1]
        %7 = cast(%5) {to = f32} : f32[]
        %8 = mul(%6, %7) : f32[2,2]
        %9, %10 = lu_factor(%8) : f32[2,2], i64[2]
        %11 = lu_solve(%9, %10, %4) {transposed = 0} : f32[2,1] loc("node 'solve'")
        yield %11
      }
    }
    yield %3 "y"
  }
})";

// Part of the body is compiled: the part after a size that depends on data.
constexpr const char* kInParts = R"(module "in_parts" {
  graph(%0 "x": f32[3], %1 "at": i64[T,2]) {
    %2 = dim(%1) {axis = 0} : i64[]
    %3 = constant f32[] [0]
    %4 = loop trip(%2) captured(%0) carried(%3) scanned(%1 axis 0) : f32[] loc("node 'outer'") {
      body(%5: f32[3], %6: f32[], %7: i64[2]) {
        %8 = non_zero(%7) : i64[1,?0]
        %9 = size(%8) : i64[]
        %10 = cast(%9) {to = f32} : f32[]
        %11 = add(%6, %10) : f32[]
        %12 = loop captured(%5) carried(%11) scanned(%7 axis 0) : f32[] loc("node 'inner'") {
          body(%13: f32[3], %14: f32[], %15: i64[]) {
            %16 = gather(%13, %15) {axis = 0} : f32[] loc("node 'pick'")
            %17 = add(%14, %16) : f32[]
            yield %17
          }
        }
        yield %12
      }
    }
    yield %4 "sum"
  }
})";

// Gather, scale and add are fused into one statement, and either indexing node may fail.
constexpr const char* kHandedOn = R"(module "handed_on" {
  graph(%0 "x": f32[4], %1 "from": i64[T,3], %2 "to": i64[T,3]) {
    %3 = dim(%1) {axis = 0} : i64[]
    %4 = loop trip(%3) carried(%0) scanned(%1 axis 0, %2 axis 0) : f32[4] loc("node 'march'") {
      body(%5: f32[4], %6: i64[3], %7: i64[3]) {
        %8 = gather(%5, %6) {axis = 0} : f32[3] loc("node 'pick'")
        %9 = constant f32[] [0.5]
        %10 = mul(%8, %9) : f32[3]
        %11 = scatter_elements(%5, %7, %10) {axis = 0, reduction = "add"} : f32[4] loc("node 'put'")
        %12 = tanh(%11) : f32[4]
        yield %12
      }
    }
    yield %4 "y"
  }
})";

Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

/// Returns the error message, which must be the same for every way to run the module.
std::string message_of(const std::string& text, const std::vector<Tensor>& feeds) {
  Expected<ir::Module> module = ir::parse(text, ops::find_op);
  EXPECT_TRUE(module) << module.error().message();
  if (!module) return "";
  const auto wanted = interp::interpret(*module, feeds, {});
  EXPECT_FALSE(wanted);
  std::string why_not;
  for (const jit::Plugin* const compiler :
       {static_cast<const jit::Plugin*>(nullptr), jit_compiler(why_not)})
    for (const int threads : {1, 3}) {
      std::string strategies;
      const auto got = run_planned(plan_of(*module, compiler), feeds, threads, strategies);
      EXPECT_FALSE(got);
      if (got) continue;
      EXPECT_EQ(got.error().message(), wanted.error().message()) << strategies;
    }
  return wanted.error().message();
}

std::string nested_with(int size) {
  std::string text = kNested;
  for (std::size_t at = text.find("SIZE"); at != std::string::npos; at = text.find("SIZE"))
    text.replace(at, 4, std::to_string(size));
  return text;
}

TEST(FailedSteps, AreToldOfOneLoop) {
  const Tensor x = *Tensor::zeros(DType::f32, {3});
  EXPECT_THAT(message_of(kOneLoop, {x, integers({3, 0, 1})}), HasSubstr("in step 0 of node 'sum'"));
  EXPECT_THAT(message_of(kOneLoop, {x, integers({0, 1, 2, 1, 7, 0, 9})}),
              HasSubstr("node 'pick': "));
  std::vector<std::int64_t> many(1000, 2);
  many[900] = -4;
  EXPECT_THAT(message_of(kOneLoop, {x, integers(many)}), HasSubstr("in step 900 of node 'sum'"));
}

TEST(FailedSteps, AreToldOfEachLoop) {
  const Tensor rows = integers({0, 0, 0, 0});
  EXPECT_THAT(message_of(nested_with(4), {*Tensor::zeros(DType::f32, {4}), rows}),
              ::testing::EndsWith("\n  note: in step 4 of node 'inner'"
                                  "\n  note: in step 0 of node 'outer'"));
  EXPECT_THAT(message_of(nested_with(17), {*Tensor::zeros(DType::f32, {17}), rows}),
              ::testing::EndsWith("\n  note: in step 5 of node 'inner'"
                                  "\n  note: in step 2 of node 'outer'"));
}

TEST(FailedSteps, AreToldWhereSizesDependOnData) {
  EXPECT_THAT(message_of(kGrowing, {*Tensor::zeros(DType::f32, {1}), integers({0, 1, 3, 0})}),
              HasSubstr("in step 2 of node 'grow'"));
}

TEST(FailedSteps, AreToldOfPartsOfABody) {
  const Tensor x = *Tensor::zeros(DType::f32, {3});
  for (const std::size_t failing : {0, 1, 7, 1200, 1201}) {
    std::vector<std::int64_t> at(2000, 1);
    at[failing] = 3;
    const Tensor rows = Tensor::of<std::int64_t>({1000, 2}, at);
    EXPECT_THAT(message_of(kInParts, {x, rows}),
                ::testing::EndsWith(fmt::format("\n  note: in step {} of node 'inner'"
                                                "\n  note: in step {} of node 'outer'",
                                                failing % 2, failing / 2)));
  }
}

TEST(FailedSteps, AreToldOfWhicheverOfSeveralIndicesComesFirst) {
  const Tensor x = *Tensor::zeros(DType::f32, {4});
  for (const std::size_t picking : {0, 2001, 6000})
    for (const std::size_t putting : {1, 2000, 2999}) {
      std::vector<std::int64_t> from(3000, -4), to(3000, 3);
      if (picking < from.size()) from[picking] = 4;
      to[putting] = -5;
      const bool is_first = picking / 3 <= putting / 3;
      EXPECT_EQ(message_of(kHandedOn, {x, Tensor::of<std::int64_t>({1000, 3}, from),
                                       Tensor::of<std::int64_t>({1000, 3}, to)}),
                fmt::format("node '{}': index {} is outside an axis of 4 elements"
                            "\n  note: in step {} of node 'march'",
                            is_first ? "pick" : "put", is_first ? 4 : -5,
                            (is_first ? picking : putting) / 3));
    }
}

TEST(FailedSteps, AreToldOfSingularMatrices) {
  const Tensor x = *Tensor::zeros(DType::f32, {2, 1});
  std::vector<std::int64_t> many(1000, 2);
  many[900] = 0;
  EXPECT_EQ(message_of(kSolving, {x, integers(many)}),
            "node 'solve': the matrix is singular: its pivot 0 is 0"
            "\n  note: in step 900 of node 'march'");
}

}  // namespace
}  // namespace scanloom
