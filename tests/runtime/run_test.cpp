#include "runtime/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ir/parse.h"
#include "ops/ops.h"
#include "passes/run.h"
#include "plan/plan.h"
#include "tests/runtime/count_allocations.h"

namespace scanloom::runtime {
namespace {

using tensor::Shape;

// A body of several kernels: product, element-wise, reduction, branch, views on two axes.
constexpr const char* kRecurrence = R"(module "recurrence" {
  graph(%0 "h0": f32[1,8], %1 "xs": f32[8,T], %2 "w": f32[8,8]) {
    %3 = dim(%1) {axis = 1} : i64[]
    %4, %5 = loop trip(%3) captured(%2) carried(%0) scanned(%1 axis 1) stacked(axis 1 reverse) : f32[1,8], f32[1,T,8] {
      body(%6: f32[8,8], %7: f32[1,8], %8: f32[8]) {
        %9 = contract(%7, %6) {spec = "...mk,...kn->...mn"} : f32[1,8]
        %10 = add(%9, %8) : f32[1,8]
        %11 = tanh(%10) : f32[1,8]
        %12 = reduce(%11) {kind = "sum", keepdims = 0} : f32[]
        %13 = constant f32[] [0]
        %14 = less(%12, %13) : boolean[]
        %15 = branch(%14, %11) : f32[1,8] {
          then(%16: f32[1,8]) {
            %17 = neg(%16) : f32[1,8]
            yield %17
          }
          else(%18: f32[1,8]) {
            yield %18
          }
        }
        yield %15, %11
      }
    }
    yield %4 "h", %5 "ys"
  }
}
)";

constexpr const char* kEndless = R"(module "endless" {
  graph(%0 "x": f32[]) {
    %1 = loop carried(%0) keep_going : f32[] {
      body(%2: f32[]) {
        %3 = sqrt(%2) : f32[]
        %4 = constant f32[] [-1]
        %5 = less(%4, %3) : boolean[]
        yield %5, %3
      }
    }
    yield %1 "x"
  }
}
)";

std::shared_ptr<const plan::Binding> bind_after_passes(const char* text,
                                                       const std::vector<Shape>& shapes) {
  Expected<ir::Module> module = ir::parse(text, ops::find_op);
  EXPECT_TRUE(module) << module.error().message();
  EXPECT_TRUE(passes::run(*module, {}));
  auto binding = plan::bind(plan::make_plan(*std::move(module), {}), shapes);
  EXPECT_TRUE(binding) << binding.error().message();
  return *binding;
}

std::int64_t allocations_of_a_run(std::int64_t steps) {
  const auto binding = bind_after_passes(kRecurrence, {{1, 8}, {8, steps}, {8, 8}});
  auto run = Run::make(binding, 0, 1);
  const std::vector<float> memory(static_cast<std::size_t>(8 * steps + 64), 0.25f);
  const auto* data = reinterpret_cast<const std::byte*>(memory.data());
  const std::vector<const std::byte*> feeds{data, data, data};
  EXPECT_TRUE((*run)->execute(feeds, {}));
  const std::int64_t before = testing::allocations();
  EXPECT_TRUE((*run)->execute(feeds, {}));
  return testing::allocations() - before;
}

TEST(Run, StepsAllocateNothing) {
  EXPECT_EQ(allocations_of_a_run(10), allocations_of_a_run(5'000));
}

TEST(Run, StepLimitNamesTheNodeTheCountAndTheOption) {
  auto run = Run::make(bind_after_passes(kEndless, {{}}), 0, 1);
  const float x = 2;
  const std::vector<const std::byte*> feeds{reinterpret_cast<const std::byte*>(&x)};
  Limits limits;
  limits.max_steps = 1'000;
  const auto result = (*run)->execute(feeds, limits);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::limit_reached);
  EXPECT_NE(result.error().message().find("1000"), std::string::npos);
  EXPECT_NE(result.error().message().find("max_steps"), std::string::npos);
}

TEST(Run, DeadlineEndsAnEndlessLoop) {
  auto run = Run::make(bind_after_passes(kEndless, {{}}), 0, 1);
  const float x = 2;
  const std::vector<const std::byte*> feeds{reinterpret_cast<const std::byte*>(&x)};
  Limits limits;
  limits.deadline_seconds = 0.05;
  const auto result = (*run)->execute(feeds, limits);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::limit_reached);
  EXPECT_NE(result.error().message().find("deadline"), std::string::npos);
}

TEST(Run, CancellationEndsAnEndlessLoop) {
  auto run = Run::make(bind_after_passes(kEndless, {{}}), 0, 1);
  const float x = 2;
  const std::vector<const std::byte*> feeds{reinterpret_cast<const std::byte*>(&x)};
  std::atomic<bool> stop{false};
  Limits limits;
  limits.cancelled = [&] { return stop.load(); };
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop = true;
  });
  const auto result = (*run)->execute(feeds, limits);
  other.join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::cancelled);
}

TEST(Run, ProgressIsReported) {
  auto run = Run::make(bind_after_passes(kEndless, {{}}), 0, 1);
  const float x = 2;
  const std::vector<const std::byte*> feeds{reinterpret_cast<const std::byte*>(&x)};
  std::int64_t reports = 0, last = 0;
  Limits limits;
  limits.deadline_seconds = 0.4;
  limits.progress = [&](std::uint32_t, std::int64_t step, std::int64_t steps) {
    ++reports;
    EXPECT_GT(step, last);
    EXPECT_EQ(steps, -1);
    last = step;
  };
  EXPECT_FALSE((*run)->execute(feeds, limits));
  EXPECT_GE(reports, 1);
}

TEST(Run, MemoryBudgetIsCheckedBeforeAnythingIsAllocated) {
  const auto binding = bind_after_passes(kRecurrence, {{1, 8}, {8, 100'000}, {8, 8}});
  const auto run = Run::make(binding, 1'000, 1);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code(), Code::limit_reached);
  EXPECT_NE(run.error().message().find("1000 bytes"), std::string::npos);
}

TEST(Run, FeedsAreNeverWritten) {
  const auto binding = bind_after_passes(kRecurrence, {{1, 8}, {8, 50}, {8, 8}});
  auto run = Run::make(binding, 0, 1);
  std::vector<float> h(8, 0.5f), xs(400, 0.25f), w(64, 0.125f);
  const auto h0 = h, xs0 = xs, w0 = w;
  const std::vector<const std::byte*> feeds{reinterpret_cast<const std::byte*>(h.data()),
                                            reinterpret_cast<const std::byte*>(xs.data()),
                                            reinterpret_cast<const std::byte*>(w.data())};
  EXPECT_TRUE((*run)->execute(feeds, {}));
  EXPECT_EQ(h, h0);
  EXPECT_EQ(xs, xs0);
  EXPECT_EQ(w, w0);
}

}  // namespace
}  // namespace scanloom::runtime
