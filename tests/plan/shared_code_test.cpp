// Machine code does not depend on the number of steps: inputs of other lengths reuse the compiled
// code.
#include <gtest/gtest.h>

#include <stdexcept>

#include "api/jit_plugin.h"
#include "ir/parse.h"
#include "ops/ops.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

using tensor::Shape;

int compiled = 0;

/// The compiler, counting what it is asked for.
const jit::Plugin* counting_compiler() {
  std::string why_not;
  static const jit::Plugin* const real = jit_compiler(why_not);
  if (real == nullptr) return nullptr;
  static const jit::Plugin counting{.version = real->version,
                                    .compile =
                                        [](const jit::LoopSource& source) {
                                          ++compiled;
                                          return real->compile(source);
                                        },
                                    .compile_body =
                                        [](const loopnest::BodySource& source) {
                                          ++compiled;
                                          return real->compile_body(source);
                                        },
                                    .check = real->check,
                                    .prepare = real->prepare,
                                    .list_loop = real->list_loop,
                                    .list_body = real->list_body};
  return &counting;
}

/// Returns how many compiled codes inputs of these sizes need, bound one after the other in one
/// plan.
int codes_of(const char* text, const std::vector<std::vector<Shape>>& feeds,
             std::string_view strategy) {
  Expected<ir::Module> module = ir::parse(text, ops::find_op);
  if (!module) throw std::runtime_error(module.error().message());
  PlanOptions options;
  options.compiler = counting_compiler();
  options.always_compile = true;
  const auto plan = make_plan(*std::move(module), options);
  compiled = 0;
  for (const std::vector<Shape>& shapes : feeds) {
    const auto binding = plan::bind(plan, shapes);
    if (!binding) throw std::runtime_error(binding.error().message());
    EXPECT_TRUE((*binding)->loops[0].notes.strategy.starts_with(strategy))
        << (*binding)->loops[0].notes.strategy;
  }
  return compiled;
}

class SharedCode : public testing::Test {
 protected:
  void SetUp() override {
    if (counting_compiler() == nullptr) GTEST_SKIP() << "no compiler";
  }
};

/// A list of sizes for each number of steps, made of those of the inputs that steps count and of
/// the others.
std::vector<std::vector<Shape>> with_steps(const std::vector<std::int64_t>& counts,
                                           Shape (*first)(std::int64_t),
                                           const std::vector<Shape>& rest) {
  std::vector<std::vector<Shape>> feeds;
  for (const std::int64_t steps : counts) {
    feeds.push_back(rest);
    feeds.back().insert(feeds.back().begin(), first(steps));
  }
  return feeds;
}

// The projection of all steps is the largest buffer, so all others are stored after it.
TEST_F(SharedCode, OfABodyBehindTheProjectionOfAllSteps) {
  constexpr const char* kText = R"(module "projected" {
  graph(%0 "x": f32[T,2,3], %1 "h0": f32[2,20], %2 "W": f32[3,20], %3 "R": f32[20,20]) {
    %4 = contract(%0, %2) {spec = "tbk,kn->tbn"} : f32[T,2,20]
    %5, %6 = loop captured(%3) carried(%1) scanned(%4 axis 0) stacked(axis 0) fixed : f32[2,20], f32[T,2,20] {
      body(%7: f32[20,20], %8: f32[2,20], %9: f32[2,20]) {
        %10 = contract(%8, %7) {spec = "mk,kn->mn"} : f32[2,20]
        %11 = add(%10, %9) : f32[2,20]
        %12 = constant i64[] [1]
        %13 = cumsum(%11, %12) {exclusive = 0, reverse = 0} : f32[2,20]
        %14 = tanh(%13) : f32[2,20]
        yield %14, %13
      }
    }
    yield %5 "h", %6 "hs"
  }
}
)";
  const auto feeds =
      with_steps({100, 101, 200, 1000}, [](std::int64_t steps) { return Shape{steps, 2, 3}; },
                 {{2, 20}, {3, 20}, {20, 20}});
  EXPECT_EQ(codes_of(kText, feeds, "compiled per step"), 1);
}

// The distance between neighbours in the batch is the number of elements of all steps.
TEST_F(SharedCode, OfABodyOverSequencesOneAfterTheOther) {
  constexpr const char* kText = R"(module "batch_first" {
  graph(%0 "x": f32[2,T,20], %1 "h0": f32[2,20], %2 "R": f32[20,20]) {
    %3, %4 = loop captured(%2) carried(%1) scanned(%0 axis 1) stacked(axis 1 reverse) fixed : f32[2,20], f32[2,T,20] {
      body(%5: f32[20,20], %6: f32[2,20], %7: f32[2,20]) {
        %8 = contract(%6, %5) {spec = "mk,kn->mn"} : f32[2,20]
        %9 = add(%8, %7) : f32[2,20]
        %10 = tanh(%9) : f32[2,20]
        yield %10, %9
      }
    }
    yield %3 "h", %4 "hs"
  }
}
)";
  const auto feeds =
      with_steps({100, 101, 200, 1000}, [](std::int64_t steps) { return Shape{2, steps, 20}; },
                 {{2, 20}, {20, 20}});
  EXPECT_EQ(codes_of(kText, feeds, "compiled per step"), 1);
}

// The distance between rows that an index picks from a slice is the length of all steps' rows.
TEST_F(SharedCode, OfABodyThatGathersAcrossTheSteps) {
  constexpr const char* kText = R"(module "across" {
  graph(%0 "x": f32[5,T,4], %1 "h0": f32[4], %2 "at": i64[3]) {
    %3 = loop captured(%2) carried(%1) scanned(%0 axis 1) fixed : f32[4] {
      body(%4: i64[3], %5: f32[4], %6: f32[5,4]) {
        %7 = gather(%6, %4) {axis = 0} : f32[3,4]
        %8 = reduce(%7) {axes = [0], keepdims = 0, kind = "sum"} : f32[4]
        %9 = softmax(%8) {axis = 0} : f32[4]
        %10 = add(%9, %5) : f32[4]
        yield %10
      }
    }
    yield %3 "h"
  }
}
)";
  const auto feeds = with_steps({100, 101, 200, 1000},
                                [](std::int64_t steps) { return Shape{5, steps, 4}; }, {{4}, {3}});
  EXPECT_EQ(codes_of(kText, feeds, "compiled per step"), 1);
}

TEST_F(SharedCode, OfALoopFunction) {
  constexpr const char* kText = R"(module "average" {
  graph(%0 "x": f32[T,7], %1 "s0": f32[7]) {
    %2, %3 = loop carried(%1) scanned(%0 axis 0) stacked(axis 0) fixed : f32[7], f32[T,7] {
      body(%4: f32[7], %5: f32[7]) {
        %6 = sub(%5, %4) : f32[7]
        %7 = mul(%6, %4) : f32[7]
        yield %7, %6
      }
    }
    yield %2 "s", %3 "ys"
  }
}
)";
  const auto feeds =
      with_steps({100, 101, 200, 1000}, [](std::int64_t steps) { return Shape{steps, 7}; }, {{7}});
  EXPECT_EQ(codes_of(kText, feeds, "compiled as a whole loop: "), 1);
}

}  // namespace
}  // namespace scanloom::plan
