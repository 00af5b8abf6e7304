// Loops of one lane whose steps are independent, vectorized over steps. Results are compared with
// the reference evaluator, which runs step by step, for several lengths and strides of slices and
// rows.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "jit/interface.h"
#include "tensor/scalar_eval.h"
#include "tests/jit/compiler.h"

namespace scanloom::jit {
namespace {

using tensor::ScalarOp;
using tensor::ScalarReg;

constexpr std::int64_t kMaxSteps = 150;

class StepLanes : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (compiler() == nullptr) GTEST_SKIP() << "built without the loop compiler";
    mask_isa_for_test(GetParam());
    if (active_isa() != GetParam()) GTEST_SKIP() << "this machine lacks the instruction set";
  }
  ~StepLanes() override { mask_isa_for_test(best_); }
  const Isa best_ = active_isa();
};

/// Captured: what a step adds, a factor. Carried: a counter of `dtype` and one that goes down by a
/// constant. Scanned: x. Stacked: the first counter after the step, x times the second before it
/// plus the factor, whether x is below the factor, the factor.
LoopSource counters(DType dtype) {
  LoopSource source;
  source.name = "counters";
  source.lanes = 1;
  source.captured = {{dtype, 0}, {DType::f32, 0}};
  source.carried = {{dtype, 0}, {DType::i64, 0}};
  source.scanned = {{DType::f32, 0}};
  source.stacked = {{dtype, 0}, {DType::f32, 0}, {DType::boolean, 0}, {DType::f32, 0}};
  tensor::ScalarProgram& p = source.program;
  p.inputs = {dtype, DType::f32, dtype, DType::i64, DType::f32};
  const auto op = [&](ScalarOp name, DType type, std::int32_t a, std::int32_t b) {
    return p.append({.op = name, .dtype = type, .args = {a, b, -1}});
  };
  const auto up = op(ScalarOp::add, dtype, 2, 0);
  const auto minus_three = p.append(
      {.op = ScalarOp::constant, .dtype = DType::i64, .bits = static_cast<std::uint64_t>(-3)});
  const auto down = op(ScalarOp::add, DType::i64, minus_three, 3);
  const auto number = op(ScalarOp::cast, DType::f32, 3, -1);
  const auto row = op(ScalarOp::add, DType::f32, op(ScalarOp::mul, DType::f32, 4, number), 1);
  const auto below = op(ScalarOp::less, DType::f32, 4, 1);
  p.results = {up, down, up, row, below, 1};
  return source;
}

/// Elements at a distance of `distance` from each other: forwards, or backwards if it is negative.
struct Line {
  Line(DType type, std::int64_t distance)
      : dtype(type),
        bytes(distance * static_cast<std::int64_t>(dtype_bytes(type))),
        memory(static_cast<std::size_t>(2 * std::abs(bytes) * kMaxSteps + 64), std::byte{0x5a}) {}
  std::byte* first() { return memory.data() + (bytes < 0 ? -bytes * (kMaxSteps - 1) : 0); }
  std::byte* at(std::int64_t step) { return first() + step * bytes; }
  DType dtype;
  std::int64_t bytes;
  std::vector<std::byte> memory;
};

struct Sample {
  Sample(DType dtype, std::int64_t apart)
      : x(DType::f32, apart),
        rows{{dtype, apart}, {DType::f32, apart}, {DType::boolean, apart}, {DType::f32, apart}} {
    for (std::int64_t step = 0; step < kMaxSteps; ++step) {
      const float value = static_cast<float>(step % 17) - 8.25f;
      std::memcpy(x.at(step), &value, sizeof value);
    }
  }
  Line x;
  std::vector<Line> rows;
  std::uint64_t states[2] = {250, static_cast<std::uint64_t>(-7)};
};

constexpr std::uint64_t kIncrement = 5;
constexpr float kFactor = 0.5f;

void evaluate(const LoopSource& source, Sample& run, std::int64_t steps) {
  const DType dtypes[] = {source.carried[0].dtype, DType::i64};
  for (std::int64_t step = 0; step < steps; ++step) {
    std::vector<ScalarReg> values(source.program.inputs.size() + source.program.instrs.size());
    const std::byte* const inputs[] = {reinterpret_cast<const std::byte*>(&kIncrement),
                                       reinterpret_cast<const std::byte*>(&kFactor),
                                       reinterpret_cast<const std::byte*>(&run.states[0]),
                                       reinterpret_cast<const std::byte*>(&run.states[1]),
                                       run.x.at(step)};
    for (std::size_t i = 0; i < 5; ++i)
      tensor::load_scalars(source.program.inputs[i], inputs[i], 0, &values[i], 1);
    tensor::eval_scalar(source.program, values.data());
    const auto result = [&](std::size_t i) {
      return &values[static_cast<std::size_t>(source.program.results[i])];
    };
    for (std::size_t i = 0; i < 2; ++i)
      tensor::store_scalars(dtypes[i], result(i), reinterpret_cast<std::byte*>(&run.states[i]), 0,
                            1);
    for (std::size_t i = 0; i < run.rows.size(); ++i)
      tensor::store_scalars(run.rows[i].dtype, result(2 + i), run.rows[i].at(step), 0, 1);
  }
}

/// In two calls, the first of `first` steps.
void run_code(CompiledLoopFn code, Sample& run, std::int64_t first, std::int64_t steps) {
  const std::byte* const captured[] = {reinterpret_cast<const std::byte*>(&kIncrement),
                                       reinterpret_cast<const std::byte*>(&kFactor)};
  std::byte* const states[] = {reinterpret_cast<std::byte*>(&run.states[0]),
                               reinterpret_cast<std::byte*>(&run.states[1])};
  const std::byte* const from[] = {states[0], states[1]};
  const std::byte* const x = run.x.first();
  std::vector<std::byte*> rows;
  std::vector<std::int64_t> strides;
  for (Line& line : run.rows) {
    rows.push_back(line.first());
    strides.push_back(line.bytes);
  }
  const LoopFrame frame{captured, from, states, &x, &run.x.bytes, rows.data(), strides.data()};
  if (first > 0) {
    ASSERT_EQ(code(&frame, 0, first), first);
  }
  if (steps > first) {
    ASSERT_EQ(code(&frame, first, steps), steps);
  }
}

TEST_P(StepLanes, EqualTheEvaluator) {
  for (const DType dtype : {DType::i64, DType::i32, DType::u8}) {
    const LoopSource source = counters(dtype);
    const Expected<CompiledLoop> compiled = compiler()->compile(source);
    ASSERT_TRUE(compiled) << compiled.error().message();
    for (const std::int64_t apart : {1, 2, -1, 0})
      for (const std::int64_t steps : {1, 3, 16, 31, 32, 33, 64, 65, 149}) {
        if (apart == 0 && steps > 1) continue;
        Sample wanted(dtype, apart), got(dtype, apart);
        evaluate(source, wanted, steps);
        run_code(compiled->run, got, steps / 3, steps);
        for (std::size_t i = 0; i < 2; ++i)
          EXPECT_EQ(got.states[i], wanted.states[i]) << dtype_name(dtype) << ' ' << steps;
        for (std::size_t i = 0; i < got.rows.size(); ++i)
          ASSERT_EQ(got.rows[i].memory, wanted.rows[i].memory)
              << dtype_name(dtype) << ", row " << i << ", " << steps << " steps, " << apart
              << " apart";
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, StepLanes,
                         testing::Values(Isa::baseline, Isa::avx2, Isa::avx512, Isa::neon),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

}  // namespace
}  // namespace scanloom::jit
