// KernelCalls: what a call is given, and the errors that a failed call becomes.
#include "runtime/kernel_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/bound_parts.h"

namespace scanloom::runtime {
namespace {

using ::testing::HasSubstr;

tensor::Status fails(const tensor::Call& call) noexcept {
  *call.fault = {.code = Code::invalid_argument, .text = "index {} of {}", .first = 9, .second = 4};
  return tensor::Status::fault;
}

/// kWalk, of which a test changes the only call.
struct OneCall {
  explicit OneCall(void (*change)(plan::BoundCall&) = [](plan::BoundCall&) {}) {
    plan::Binding binding = *bind_text(kWalk, {{}, {2}, {5, 2}});
    change(binding.calls[0]);
    parts = std::make_unique<BoundParts>(std::make_shared<plan::Binding>(std::move(binding)));
  }
  [[nodiscard]] const tensor::HotCall& call() const { return parts->kernels.data()[0]; }
  [[nodiscard]] Error error() const { return parts->kernels.error(parts->binding->loops[0].node); }
  std::unique_ptr<BoundParts> parts;
};

TEST(KernelCalls, ACallReadsThroughTheSlotsOfTheRun) {
  OneCall made;
  const tensor::Call& call = made.call().call;
  const plan::BoundCall& bound = made.parts->binding->calls[0];
  ASSERT_EQ(call.input_count, 2);
  ASSERT_EQ(call.output_count, 1);
  EXPECT_EQ(call.inputs, made.parts->values.operands.data() + bound.first_operand);
  float a[] = {1, 2}, b[] = {10, 20}, sum[2];
  const auto point = [](const tensor::Operand& operand, float* data) {
    *operand.slot = reinterpret_cast<std::byte*>(data) - operand.offset;
  };
  point(call.in(0), a);
  point(call.in(1), b);
  point(call.out(0), sum);
  ASSERT_EQ(made.call().run(call), tensor::Status::ok);
  EXPECT_EQ(sum[0], 11);
  EXPECT_EQ(sum[1], 22);
}

TEST(KernelCalls, AFaultBecomesAnErrorOfTheNodeOnce) {
  OneCall made([](plan::BoundCall& call) { call.run = fails; });
  ASSERT_EQ(made.call().run(made.call().call), tensor::Status::fault);
  const Error error = made.error();
  EXPECT_THAT(error.message(), HasSubstr("'walk'"));
  EXPECT_THAT(error.message(), HasSubstr("index 9 of 4"));
  EXPECT_THAT(made.error().message(), HasSubstr("an input changed while it was read"));
}

TEST(KernelCalls, AKernelThatHadToStopReportsTheLimit) {
  OneCall made;
  Limits limits;
  limits.deadline_seconds = 1;
  limits.start = Clock::now() - std::chrono::seconds(2);
  const Watch watch(limits);
  const KernelWatch::Run run(made.parts->kernels.watch(), watch);
  ASSERT_TRUE(made.call().call.stop->stop_requested());
  const Error error = made.error();
  EXPECT_EQ(error.code(), Code::limit_reached);
  EXPECT_THAT(error.message(), HasSubstr("'walk'"));
}

TEST(KernelCalls, AnExceptionOfTheCallerEndsTheCallAndIsRethrown) {
  OneCall made;
  Limits limits;
  limits.cancelled = []() -> bool { throw std::runtime_error("interrupted"); };
  limits.start = Clock::now() - std::chrono::seconds(2);
  const Watch watch(limits);
  const KernelWatch::Run run(made.parts->kernels.watch(), watch);
  ASSERT_TRUE(made.call().call.stop->stop_requested());
  EXPECT_THROW((void)made.error(), std::runtime_error);
}

TEST(KernelCalls, WithoutLimitsNothingStopsAKernel) {
  OneCall made;
  const Limits limits;
  const Watch watch(limits);
  const KernelWatch::Run run(made.parts->kernels.watch(), watch);
  EXPECT_FALSE(made.call().call.stop->stop_requested());
}

TEST(KernelCalls, RandomCallsCountFromTheRun) {
  OneCall made([](plan::BoundCall& call) { call.is_random = true; });
  tensor::SampleCounter* const samples = made.call().call.samples;
  ASSERT_NE(samples, nullptr);
  samples->execution = 3;
  made.parts->kernels.begin_run(7);
  EXPECT_EQ(samples->run, 7u);
  EXPECT_EQ(samples->execution, 0u);
  EXPECT_EQ(OneCall().call().call.samples, nullptr);
}

}  // namespace
}  // namespace scanloom::runtime
