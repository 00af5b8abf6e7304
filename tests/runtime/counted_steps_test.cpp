// Steps are counted over the runs of a session: short loops of models that run often are compiled
// eventually.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <thread>

#include "api/jit_plugin.h"
#include "ir/parse.h"
#include "ops/ops.h"
#include "plan/binding.h"
#include "runtime/run.h"

namespace scanloom::runtime {
namespace {

using tensor::Shape;
using tensor::Tensor;

/// A chain of so many operators on one number.
std::string chain(int operators) {
  std::string body;
  for (int i = 0; i < operators; ++i)
    body += fmt::format("%{} = {}(%{}) : f32[] ", 5 + i, i % 2 == 0 ? "tanh" : "neg", 4 + i);
  return fmt::format(
      "module {{ graph(%0 \"h\": f32[], %1 \"xs\": f32[T]) {{ %2 = loop carried(%0) scanned(%1 "
      "axis 0) : f32[] {{ body(%3: f32[], %4: f32[]) {{ {} %{} = add(%3, %{}) : f32[] yield %{} }} "
      "}} yield %2 \"last\" }} }}",
      body, 5 + operators, 4 + operators, 5 + operators);
}

/// s <- s * sum(x), which is no element program.
constexpr const char* kSum =
    "module { graph(%0 \"s\": f32[8], %1 \"xs\": f32[T,8]) { %2 = loop carried(%0) "
    "scanned(%1 axis 0) : f32[8] { body(%3: f32[8], %4: f32[8]) { "
    "%5 = reduce(%4) {axes = [0], keepdims = 1, kind = \"sum\"} : f32[1] "
    "%6 = mul(%3, %5) : f32[8] yield %6 } } yield %2 \"last\" } }";

std::shared_ptr<const plan::Plan> plan_of(const std::string& text, const jit::Plugin* compiler) {
  Expected<ir::Module> module = ir::parse(text, ops::find_op);
  if (!module) throw std::runtime_error(module.error().message());
  plan::PlanOptions options;
  options.compiler = compiler;
  return plan::make_plan(*std::move(module), options);
}

/// A binding for so many steps, with a run of its own.
class Bound {
 public:
  Bound(const std::shared_ptr<const plan::Plan>& plan, const Shape& state, const Shape& slice,
        std::int64_t steps)
      : h_(*Tensor::zeros(DType::f32, state)) {
    Shape all = slice;
    all.insert(0, steps);
    xs_ = *Tensor::zeros(DType::f32, all);
    for (std::int64_t i = 0; i < xs_.elements(); ++i)
      static_cast<float*>(xs_.mutable_data())[i] = static_cast<float>(i % 7) * 0.25f;
    binding_ = *plan::bind(plan, std::vector<Shape>{state, all});
    run_ = *Run::make(binding_, 0, 1);
  }
  Tensor run() {
    const std::byte* const feeds[] = {static_cast<const std::byte*>(h_.data()),
                                      static_cast<const std::byte*>(xs_.data())};
    return run_->execute(feeds, {})->outputs[0];
  }
  [[nodiscard]] std::string strategy() const {
    return plan::describe_strategy(*binding_, binding_->loops[0]);
  }

 private:
  Tensor h_, xs_;
  std::shared_ptr<const plan::Binding> binding_;
  std::unique_ptr<Run> run_;
};

class CountedSteps : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    compiler_ = jit_compiler(why_not);
    if (compiler_ == nullptr) GTEST_SKIP() << why_not;
  }
  const jit::Plugin* compiler_ = nullptr;
};

TEST_F(CountedSteps, MakeOneFunctionOfALongBodyOfShortRuns) {
  const auto plan = plan_of(chain(700), compiler_);
  Bound bound(plan, {}, {}, 5);
  EXPECT_TRUE(bound.strategy().starts_with("stepped: too few steps")) << bound.strategy();
  const Tensor first = bound.run();
  for (int i = 0; i < 2000; ++i) bound.run();
  EXPECT_TRUE(bound.strategy().starts_with("compiled as a whole loop: ")) << bound.strategy();
  EXPECT_TRUE(tensor::identical(bound.run(), first));
}

// Even where each run takes a step and no more.
TEST_F(CountedSteps, CountSingleSteps) {
  const auto plan = plan_of(chain(700), compiler_);
  Bound bound(plan, {}, {}, 1);
  for (int i = 0; i < 10'000; ++i) bound.run();
  EXPECT_TRUE(bound.strategy().starts_with("compiled as a whole loop: ")) << bound.strategy();
}

TEST_F(CountedSteps, AreThoseOfInputsOfAllLengths) {
  const auto plan = plan_of(kSum, compiler_);
  for (std::int64_t steps = 20'000; steps < 20'040; ++steps) Bound(plan, {8}, {8}, steps).run();
  Bound bound(plan, {8}, {8}, 100);
  EXPECT_TRUE(bound.strategy().starts_with("compiled per step")) << bound.strategy();
}

// Sizes of which a step computes something else are counted apart.
TEST_F(CountedSteps, AreNotThoseOfOtherSteps) {
  const auto plan = plan_of(
      "module { graph(%0 \"h\": f32[N], %1 \"xs\": f32[T,N]) { %2 = loop carried(%0) "
      "scanned(%1 axis 0) : f32[N] { body(%3: f32[N], %4: f32[N]) { "
      "%5 = reduce(%4) {axes = [0], keepdims = 1, kind = \"sum\"} : f32[1] "
      "%6 = mul(%3, %5) : f32[N] yield %6 } } yield %2 \"last\" } }",
      compiler_);
  for (std::int64_t size = 2; size < 42; ++size) Bound(plan, {size}, {size}, 20'000).run();
  Bound bound(plan, {42}, {42}, 100);
  EXPECT_TRUE(bound.strategy().starts_with("stepped: ")) << bound.strategy();
}

TEST_F(CountedSteps, AreThoseOfConcurrentRuns) {
  const auto plan = plan_of(chain(700), compiler_);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      Bound bound(plan, {}, {}, 5);
      for (int i = 0; i < 500; ++i) bound.run();
    });
  for (std::thread& thread : threads) thread.join();
  Bound bound(plan, {}, {}, 5);
  EXPECT_TRUE(bound.strategy().starts_with("compiled as a whole loop: ")) << bound.strategy();
}

}  // namespace
}  // namespace scanloom::runtime
