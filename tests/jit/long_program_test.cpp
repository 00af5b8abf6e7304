// Programs of hundreds of instructions: the compiler's work grows linearly with them, and results
// equal the evaluator's.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/cpu.h"
#include "jit/interface.h"
#include "tensor/scalar_eval.h"
#include "tests/jit/compiler.h"

namespace scanloom::jit {
namespace {

using tensor::ScalarOp;
using tensor::ScalarProgram;

constexpr std::int64_t kLongLoopSteps = 5;

/// Whether some operands are one element for all lanes.
enum class Kind { lanes, mixed };

/// h <- f(h / 2 + x_k + b) for each k of `length`, f one of a few functions or none, every value a
/// row; where operands are mixed, also the same for one element, which all lanes read.
struct LongLoop {
  LongLoop(DType dtype, std::int64_t lanes, int length, bool functions, Kind kind) {
    source.name = "long";
    source.lanes = lanes;
    const std::int64_t stride = lanes == 1 ? 0 : 1;
    const bool mixed = kind == Kind::mixed;
    const auto stride_of = [&](int k) { return mixed && k % 3 == 0 ? 0 : stride; };
    source.captured = {{dtype, 0}, {dtype, stride}};
    source.carried = {{dtype, 0}, {dtype, stride}};
    for (int k = 0; k < length; ++k) source.scanned.push_back({dtype, stride_of(k)});
    ScalarProgram& program = source.program;
    program.inputs.assign(static_cast<std::size_t>(4 + length), dtype);
    const auto op = [&](ScalarOp name, std::int32_t a, std::int32_t b) {
      return program.append({.op = name, .dtype = dtype, .args = {a, b, -1}});
    };
    static constexpr ScalarOp kFunctions[] = {ScalarOp::sin, ScalarOp::tanh, ScalarOp::sin,
                                              ScalarOp::erf};
    std::int32_t one = 2, many = 3;
    std::vector<std::int32_t> rows;
    for (int k = 0; k < length; ++k) {
      const bool uniform = stride_of(k) == 0;
      std::int32_t& state = uniform ? one : many;
      state = op(ScalarOp::add, op(ScalarOp::mul, state, 0), 4 + k);
      if (!uniform) state = op(ScalarOp::sub, state, k % 2 == 0 ? one : 1);
      if (functions) state = op(kFunctions[k % 4], state, -1);
      rows.push_back(state);
      source.stacked.push_back({dtype, stride_of(k)});
    }
    // Rows that no instruction makes: a slice, and one element for all lanes.
    rows.insert(rows.end(), {4 + length - 1, one, 5});
    source.stacked.insert(source.stacked.end(),
                          {{dtype, stride_of(length - 1)}, {dtype, stride}, {dtype, stride}});
    program.results = {one, many};
    program.results.insert(program.results.end(), rows.begin(), rows.end());
  }
  LoopSource source;
};

/// Values of operands, each its own memory: of `steps` slices.
using Memory = std::vector<std::vector<std::byte>>;

Memory make_memory(const std::vector<LoopOperand>& operands, std::int64_t lanes, std::int64_t steps,
                   int seed) {
  Memory memory;
  for (const LoopOperand& operand : operands) {
    const auto count = static_cast<std::size_t>((operand.lane_stride == 0 ? 1 : lanes) * steps);
    const std::size_t size = dtype_bytes(operand.dtype);
    memory.emplace_back(count * size);
    for (std::size_t i = 0; i < count; ++i) {
      const double value = static_cast<double>((static_cast<int>(i) * 37 + ++seed * 11) % 101) / 64;
      const std::uint64_t bits = tensor::scalar_bits(value - 0.75, operand.dtype);
      std::memcpy(&memory.back()[i * size], &bits, size);
    }
  }
  return memory;
}

std::vector<std::byte*> addresses(Memory& memory) {
  std::vector<std::byte*> found;
  for (std::vector<std::byte>& bytes : memory) found.push_back(bytes.data());
  return found;
}

std::vector<std::int64_t> strides(const std::vector<LoopOperand>& operands, std::int64_t lanes) {
  std::vector<std::int64_t> found;
  for (const LoopOperand& operand : operands)
    found.push_back((operand.lane_stride == 0 ? 1 : lanes) *
                    static_cast<std::int64_t>(dtype_bytes(operand.dtype)));
  return found;
}

/// Runs the code, and the evaluator lane by lane; all rows and last states must be equal.
void check(const LoopSource& source) {
  const Expected<CompiledLoop> compiled = compiler()->compile(source);
  ASSERT_TRUE(compiled) << compiled.error().message();
  const std::int64_t lanes = source.lanes;
  Memory captured = make_memory(source.captured, lanes, 1, 1);
  Memory carried = make_memory(source.carried, lanes, 1, 2);
  Memory scanned = make_memory(source.scanned, lanes, kLongLoopSteps, 3);
  Memory between = carried, last = carried;
  Memory rows = make_memory(source.stacked, lanes, kLongLoopSteps, 4);
  const auto slice_strides = strides(source.scanned, lanes),
             row_strides = strides(source.stacked, lanes);
  const auto constants = addresses(captured), slices = addresses(scanned), made = addresses(rows),
             first = addresses(carried), middle = addresses(between), final = addresses(last);
  const LoopFrame begin{constants.data(),     first.data(), middle.data(),     slices.data(),
                        slice_strides.data(), made.data(),  row_strides.data()};
  const LoopFrame end{constants.data(),     middle.data(), final.data(),      slices.data(),
                      slice_strides.data(), made.data(),   row_strides.data()};
  ASSERT_EQ(compiled->run(&begin, 0, 2), 2);
  ASSERT_EQ(compiled->run(&end, 2, kLongLoopSteps), kLongLoopSteps);

  const ScalarProgram& program = source.program;
  const auto at = [&](const LoopOperand& operand, std::int64_t step, std::int64_t lane) {
    return operand.lane_stride == 0 ? step : step * lanes + lane;
  };
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    std::vector<tensor::ScalarReg> values(program.inputs.size() + program.instrs.size());
    const auto load = [&](const LoopOperand& operand, const std::byte* memory, std::int64_t index,
                          std::size_t reg) {
      const auto size = static_cast<std::int64_t>(dtype_bytes(operand.dtype));
      tensor::load_scalars(operand.dtype, memory + index * size, 0, &values[reg], 1);
    };
    const auto equals = [&](const LoopOperand& operand, const std::byte* memory, std::int64_t index,
                            std::size_t result) {
      std::array<std::byte, 8> wanted{};
      const std::size_t size = dtype_bytes(operand.dtype);
      const auto reg = static_cast<std::size_t>(program.results[result]);
      tensor::store_scalars(operand.dtype, &values[reg], wanted.data(), 0, 1);
      return std::memcmp(memory + static_cast<std::size_t>(index) * size, wanted.data(), size) == 0;
    };
    for (std::size_t i = 0; i < 2; ++i)
      load(source.captured[i], captured[i].data(), at(source.captured[i], 0, lane), i);
    for (std::size_t i = 0; i < 2; ++i)
      load(source.carried[i], carried[i].data(), at(source.carried[i], 0, lane), 2 + i);
    for (std::int64_t step = 0; step < kLongLoopSteps; ++step) {
      for (std::size_t i = 0; i < source.scanned.size(); ++i)
        load(source.scanned[i], scanned[i].data(), at(source.scanned[i], step, lane), 4 + i);
      tensor::eval_scalar(program, values.data());
      for (std::size_t i = 0; i < source.stacked.size(); ++i)
        ASSERT_TRUE(
            equals(source.stacked[i], rows[i].data(), at(source.stacked[i], step, lane), 2 + i))
            << "row " << i << ", step " << step << ", lane " << lane << " of " << lanes;
      for (std::size_t i = 0; i < 2; ++i)
        values[2 + i] = values[static_cast<std::size_t>(program.results[i])];
    }
    for (std::size_t i = 0; i < 2; ++i)
      ASSERT_TRUE(equals(source.carried[i], last[i].data(), at(source.carried[i], 0, lane), i))
          << "state " << i << ", lane " << lane << " of " << lanes;
  }
}

class LongProgram : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (compiler() == nullptr) GTEST_SKIP() << "built without the loop compiler";
    mask_isa_for_test(GetParam());
    if (active_isa() != GetParam()) GTEST_SKIP() << "this machine lacks the instruction set";
#ifdef SCANLOOM_SANITIZED
    if (best_ != GetParam()) GTEST_SKIP() << "the compiler is the same code for each of them";
#endif
  }
  ~LongProgram() override { mask_isa_for_test(best_); }
  const Isa best_ = active_isa();
};

TEST_P(LongProgram, EqualsTheEvaluator) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16})
    for (const std::int64_t lanes : {1, 5, 33, 64, 200})
      for (const Kind kind : {Kind::lanes, Kind::mixed})
        for (const bool functions : {false, true}) {
          if (dtype == DType::f16 && lanes != 33) continue;  // of which each is many instructions
          const LongLoop loop(dtype, lanes, functions ? 70 : 150, functions, kind);
          check(loop.source);
          if (HasFatalFailure()) return;
        }
}

INSTANTIATE_TEST_SUITE_P(Isas, LongProgram,
                         testing::Values(Isa::baseline, Isa::avx2, Isa::avx512, Isa::neon),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

CodeSize size_of(const LongLoop& loop) {
  const Expected<CompiledLoop> compiled = compiler()->compile(loop.source);
  return compiled ? compiled->size : CodeSize{};
}

// Each of many functions is compiled once, and blocks do not grow with the program.
TEST(LongProgramSize, GrowsLikeTheProgram) {
  if (compiler() == nullptr) GTEST_SKIP() << "built without the loop compiler";
  for (const std::int64_t lanes : {1, 64})
    for (const bool functions : {false, true}) {
      const CodeSize small = size_of({DType::f64, lanes, 200, functions, Kind::lanes});
      const CodeSize large = size_of({DType::f64, lanes, 400, functions, Kind::lanes});
      ASSERT_GT(small.instructions, 0U);
      EXPECT_LE(large.instructions, 2 * small.instructions + 100);
      // For each k: at most four instructions, a load, a store and where these are.
      EXPECT_LE(large.instructions, 400U * 40) << lanes << " lanes";
      EXPECT_LE(large.longest_block, 2500U) << lanes << " lanes";
    }
}

}  // namespace
}  // namespace scanloom::jit
