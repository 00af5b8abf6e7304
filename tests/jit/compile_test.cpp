// Machine code against the reference evaluator: every instruction in every dtype that has code, for
// one lane and for several, over ordinary and special values.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/cpu.h"
#include "jit/interface.h"
#include "tensor/scalar_eval.h"
#include "tensor/small_float.h"
#include "tests/jit/compiler.h"

namespace scanloom::jit {

using loopnest::BodySource;
using loopnest::Statement;

namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;
using tensor::ScalarProgram;

constexpr std::int64_t kSteps = 64;
/// Whole vectors of every instruction set, and lanes that are left over for scalar code.
constexpr std::int64_t kLanes = 21;

/// Ordinary numbers, and among them those that go wrong.
std::vector<std::byte> make_values(DType dtype, std::int64_t count, std::mt19937& random) {
  const std::size_t size = dtype_bytes(dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
  static constexpr double kSpecial[] = {0.0,
                                        -0.0,
                                        1,
                                        -1,
                                        0.5,
                                        1e30,
                                        -1e30,
                                        1e-40,
                                        std::numeric_limits<double>::infinity(),
                                        -std::numeric_limits<double>::infinity(),
                                        std::numeric_limits<double>::quiet_NaN(),
                                        127,
                                        -128,
                                        2147483647,
                                        -2147483648.0,
                                        3};
  for (std::int64_t i = 0; i < count; ++i) {
    const double ordinary = static_cast<double>(static_cast<std::int32_t>(random())) * 0x1p-27;
    const double value = i % 3 == 0 ? kSpecial[random() % std::size(kSpecial)] : ordinary;
    std::uint64_t bits = tensor::scalar_bits(value, dtype);
    if (dtype == DType::boolean) bits = random() & 1;
    std::memcpy(&bytes[static_cast<std::size_t>(i) * size], &bits, size);
  }
  return bytes;
}

bool same(const std::byte* a, const std::byte* b, DType dtype) {
  if (std::memcmp(a, b, dtype_bytes(dtype)) == 0) return true;
  if (dtype == DType::f32) {
    float x, y;
    std::memcpy(&x, a, sizeof x), std::memcpy(&y, b, sizeof y);
    return std::isnan(x) && std::isnan(y);
  }
  if (dtype == DType::f64) {
    double x, y;
    std::memcpy(&x, a, sizeof x), std::memcpy(&y, b, sizeof y);
    return std::isnan(x) && std::isnan(y);
  }
  if (dtype == DType::f16 || dtype == DType::bf16) {
    std::uint16_t x, y;
    std::memcpy(&x, a, sizeof x), std::memcpy(&y, b, sizeof y);
    const int infinity = dtype == DType::f16 ? 0x7c00 : 0x7f80;
    return (x & 0x7fff) > infinity && (y & 0x7fff) > infinity;
  }
  return false;
}

/// Compiles a loop that maps scanned rows through `program`, and compares every element.
void check_program(const ScalarProgram& program, std::int64_t lanes, const std::string& name) {
  LoopSource source;
  source.name = name;
  source.program = program;
  source.lanes = lanes;
  for (const DType dtype : program.inputs) source.scanned.push_back({dtype, lanes > 1 ? 1 : 0});
  const DType result = program.register_dtype(program.results[0]);
  source.stacked.push_back({result, lanes > 1 ? 1 : 0});
  const Expected<CompiledLoop> compiled = compiler()->compile(source);
  if (!compiled) {
    EXPECT_EQ(compiled.error().code(), Code::unsupported) << compiled.error().message();
    return;
  }
  std::mt19937 random(11);
  const std::int64_t count = kSteps * lanes;
  std::vector<std::vector<std::byte>> inputs;
  std::vector<const std::byte*> scanned;
  std::vector<std::int64_t> strides;
  for (const DType dtype : program.inputs) {
    inputs.push_back(make_values(dtype, count, random));
    scanned.push_back(inputs.back().data());
    strides.push_back(lanes * static_cast<std::int64_t>(dtype_bytes(dtype)));
  }
  const std::size_t size = dtype_bytes(result);
  std::vector<std::byte> got(static_cast<std::size_t>(count) * size);
  std::byte* const rows = got.data();
  const std::int64_t row_stride = lanes * static_cast<std::int64_t>(size);
  const LoopFrame frame{nullptr,        nullptr, nullptr,    scanned.data(),
                        strides.data(), &rows,   &row_stride};
  ASSERT_EQ(compiled->run(&frame, 0, 7), 7);
  ASSERT_EQ(compiled->run(&frame, 7, kSteps), kSteps);
  const std::size_t registers = program.inputs.size() + program.instrs.size();
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<tensor::ScalarReg> values(registers);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const auto width = dtype_bytes(program.inputs[k]);
      tensor::load_scalars(program.inputs[k], &inputs[k][static_cast<std::size_t>(i) * width], 0,
                           &values[k], 1);
    }
    tensor::eval_scalar(program, values.data());
    std::byte wanted[16];
    tensor::store_scalars(result, &values[static_cast<std::size_t>(program.results[0])], wanted, 0,
                          1);
    ASSERT_TRUE(same(&got[static_cast<std::size_t>(i) * size], wanted, result))
        << name << " of " << dtype_name(program.inputs[0]) << ", " << lanes << " lanes, element "
        << i;
  }
}

constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::f16,    DType::bf16, DType::i8,
                             DType::i16, DType::i32, DType::i64,    DType::u8,   DType::u16,
                             DType::u32, DType::u64, DType::boolean};

class Compile : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (compiler() == nullptr) GTEST_SKIP() << "built without the loop compiler";
    mask_isa_for_test(GetParam());
    if (active_isa() != GetParam()) GTEST_SKIP() << "this machine lacks the instruction set";
#ifdef SCANLOOM_SANITIZED
    if (best_ != GetParam()) GTEST_SKIP() << "the compiler is the same code for each of them";
#endif
  }
  ~Compile() override { mask_isa_for_test(best_); }
  const Isa best_ = active_isa();
};

TEST_P(Compile, EveryInstructionEqualsTheEvaluator) {
  const struct {
    ScalarOp op;
    int arguments;
  } ops[] = {
#define SCANLOOM_SCALAR(name, arguments, result) {ScalarOp::name, arguments},
#include "tensor/scalar_ops.inc"
#undef SCANLOOM_SCALAR
  };
  for (const auto& [op, arguments] : ops) {
    if (op == ScalarOp::constant || op == ScalarOp::cast) continue;
    for (const DType dtype : kDTypes) {
      ScalarProgram program;
      for (int i = 0; i < arguments; ++i)
        program.inputs.push_back(op == ScalarOp::select && i == 0 ? DType::boolean : dtype);
      ScalarInstr instr{.op = op, .dtype = dtype};
      for (int i = 0; i < arguments; ++i) instr.args[i] = i;
      if (op == ScalarOp::exp_nonpositive)  // of -|x|
        for (const ScalarOp made : {ScalarOp::abs, ScalarOp::neg})
          instr.args[0] =
              program.append({.op = made, .dtype = dtype, .args = {instr.args[0], -1, -1}});
      program.results = {program.append(instr)};
      if (!tensor::supports(program)) continue;
      check_program(program, kLanes, tensor::scalar_op_name(op));
      if (HasFatalFailure()) return;
    }
  }
}

/// The loop's one result of each `values`, all as steps.
template <class To, class From>
std::vector<To> mapped(const ScalarProgram& program, const std::vector<From>& values) {
  constexpr std::int64_t kLanesOfAll = 64;
  LoopSource source;
  source.program = program;
  source.lanes = kLanesOfAll;
  source.scanned = {{program.inputs[0], 1}};
  source.stacked = {{program.register_dtype(program.results[0]), 1}};
  const Expected<CompiledLoop> compiled = compiler()->compile(source);
  std::vector<To> results(values.size());
  EXPECT_TRUE(compiled.has_value());
  if (!compiled) return results;
  const auto* const first = reinterpret_cast<const std::byte*>(values.data());
  auto* const rows = reinterpret_cast<std::byte*>(results.data());
  const std::int64_t from_bytes = kLanesOfAll * sizeof(From), to_bytes = kLanesOfAll * sizeof(To);
  const LoopFrame frame{nullptr, nullptr, nullptr, &first, &from_bytes, &rows, &to_bytes};
  const auto steps = static_cast<std::int64_t>(values.size()) / kLanesOfAll;
  EXPECT_EQ(compiled->run(&frame, 0, steps), steps);
  return results;
}

ScalarProgram cast_program(DType from, DType to) {
  ScalarProgram program;
  program.inputs = {from};
  program.results = {program.append({.op = ScalarOp::cast, .dtype = to, .args = {0, -1, -1}})};
  return program;
}

/// Every value of the format widens exactly. Values at and next to the middle between two
/// neighbours round as the definition says.
template <class Half>
void check_f16() {
  std::vector<std::uint16_t> all(0x10000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  const DType dtype = dtype_of<Half>;
  const auto wide = mapped<std::uint32_t>(cast_program(dtype, DType::f32), all);
  std::vector<float> floats;
  std::vector<double> doubles;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const float value = Half::from_bits(all[i]).to_float();
    ASSERT_EQ(wide[i], std::bit_cast<std::uint32_t>(value)) << dtype_name(dtype) << ' ' << i;
    const float next = Half::from_bits(static_cast<std::uint16_t>(i ^ 1)).to_float();
    const double middle = (double{value} + double{next}) / 2;
    for (const int side : {-1, 0, 1}) {
      const double towards = side * std::numeric_limits<double>::infinity();
      const auto narrow = static_cast<float>(middle);
      floats.push_back(side == 0 ? narrow : std::nextafter(narrow, static_cast<float>(towards)));
      doubles.push_back(side == 0 ? middle : std::nextafter(middle, towards));
    }
  }
  const auto from_floats = mapped<std::uint16_t>(cast_program(DType::f32, dtype), floats);
  const auto from_doubles = mapped<std::uint16_t>(cast_program(DType::f64, dtype), doubles);
  const auto wanted_of = [](double value) { return Half::from(value).bits; };
  for (std::size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(from_floats[i], wanted_of(double{floats[i]})) << dtype_name(dtype) << floats[i];
    ASSERT_EQ(from_doubles[i], wanted_of(doubles[i])) << dtype_name(dtype) << ' ' << doubles[i];
  }
}

TEST_P(Compile, EveryHalfWidensAndRoundsExactly) {
  check_f16<tensor::Half>();
  check_f16<tensor::BFloat16>();
}

TEST_P(Compile, EveryCastEqualsTheEvaluator) {
  for (const DType from : kDTypes)
    for (const DType to : kDTypes) {
      check_program(cast_program(from, to), kLanes, "cast to " + std::string(dtype_name(to)));
      if (HasFatalFailure()) return;
    }
}

/// A recurrence of every kind of operand: each one per lane, and one element for all lanes.
struct Recurrence {
  Recurrence(DType type, std::int64_t count, bool apart) : dtype(type), lanes(count) {
    // Per lane, or not: captured, carried, scanned, stacked. Lanes of a slice may be strided.
    const std::int64_t per_lane = lanes > 1 ? 1 : 0;
    const LoopOperand lane{dtype, per_lane}, uniform{dtype, 0};
    source.name = "recurrence";
    source.lanes = lanes;
    source.captured = source.carried = {lane, uniform};
    source.scanned = {{dtype, apart ? 3 * per_lane : per_lane}, uniform};
    source.stacked = {lane, lane, uniform};
    ScalarProgram& program = source.program;
    program.inputs.assign(6, dtype);
    const auto op = [&](ScalarOp name, std::int32_t a, std::int32_t b) {
      return program.append({.op = name, .dtype = dtype, .args = {a, b, -1}});
    };
    const bool boolean = dtype == DType::boolean;
    const auto plus = boolean ? ScalarOp::logical_xor : ScalarOp::add;
    const auto times = boolean ? ScalarOp::logical_and : ScalarOp::mul;
    const auto next_uniform = op(plus, op(times, kUniform, kUniformFactor), kUniformSlice);
    const auto below =
        boolean ? op(plus, kLane, next_uniform) : op(ScalarOp::less, kLane, next_uniform);
    const auto chosen =
        program.append({.op = ScalarOp::select, .dtype = dtype, .args = {below, kSlice, kLane}});
    const auto next = op(plus, op(times, chosen, kFactor), next_uniform);
    const auto row = op(apart && !boolean ? ScalarOp::div : times, next, kSlice);
    program.results = {next, next_uniform, row, next_uniform, next_uniform};
  }
  /// Inputs of the program, in order; x % 2 == 1: one element for all lanes.
  static constexpr std::int32_t kFactor = 0, kUniformFactor = 1, kLane = 2, kUniform = 3,
                                kSlice = 4, kUniformSlice = 5;
  DType dtype;
  std::int64_t lanes;
  LoopSource source;
};

/// Bytes after each result that no store may reach.
constexpr std::size_t kBehind = 128;
constexpr std::byte kUntouched{0xa5};

/// Runs it in calls of several steps, and compares every row and the last states.
void check_recurrence(const Recurrence& loop) {
  const Expected<CompiledLoop> compiled = compiler()->compile(loop.source);
  ASSERT_TRUE(compiled) << compiled.error().message();
  const std::size_t size = dtype_bytes(loop.dtype), lanes = static_cast<std::size_t>(loop.lanes);
  const std::size_t apart =
      static_cast<std::size_t>(std::max<std::int64_t>(1, loop.source.scanned[0].lane_stride));
  constexpr std::size_t kFew = 9;
  std::mt19937 random(17);
  std::vector<std::vector<std::byte>> inputs;  // captured, carried, scanned
  for (const std::size_t elements :
       {lanes, std::size_t{1}, lanes, std::size_t{1}, kFew * lanes * apart, kFew})
    inputs.push_back(make_values(loop.dtype, static_cast<std::int64_t>(elements), random));
  std::vector<std::vector<std::byte>> outputs;  // states, rows
  for (const std::size_t elements : {lanes, std::size_t{1}, kFew * lanes, kFew * lanes, kFew})
    outputs.emplace_back(elements * size + kBehind, kUntouched);
  std::vector<std::vector<std::byte>> middle = {outputs[0], outputs[1]};
  const auto at = [](std::vector<std::byte>& of) { return of.data(); };
  const std::byte* captured[] = {at(inputs[0]), at(inputs[1])};
  const std::byte* scanned[] = {at(inputs[4]), at(inputs[5])};
  std::byte* rows[] = {at(outputs[2]), at(outputs[3]), at(outputs[4])};
  const auto row = static_cast<std::int64_t>(lanes * size), one = static_cast<std::int64_t>(size);
  const std::int64_t slice_strides[] = {row * static_cast<std::int64_t>(apart), one};
  const std::int64_t row_strides[] = {row, row, one};
  const std::byte* first[] = {at(inputs[2]), at(inputs[3])};
  std::byte* half[] = {at(middle[0]), at(middle[1])};
  const std::byte* from_half[] = {half[0], half[1]};
  std::byte* last[] = {at(outputs[0]), at(outputs[1])};
  const LoopFrame begin{captured, first, half, scanned, slice_strides, rows, row_strides};
  const LoopFrame rest{captured, from_half, last, scanned, slice_strides, rows, row_strides};
  ASSERT_EQ(compiled->run(&begin, 0, 4), 4);
  ASSERT_EQ(compiled->run(&rest, 4, kFew), static_cast<std::int64_t>(kFew));

  const ScalarProgram& program = loop.source.program;
  std::vector<tensor::ScalarReg> registers(program.inputs.size() + program.instrs.size());
  const auto load = [&](std::int32_t input, std::size_t index) {
    tensor::load_scalars(loop.dtype, &inputs[static_cast<std::size_t>(input)][index * size], 0,
                         &registers[static_cast<std::size_t>(input)], 1);
  };
  const auto check = [&](std::size_t result, std::size_t output, std::size_t index) {
    std::byte wanted[16];
    tensor::store_scalars(loop.dtype, &registers[static_cast<std::size_t>(program.results[result])],
                          wanted, 0, 1);
    return same(&outputs[output][index * size], wanted, loop.dtype);
  };
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    for (std::size_t step = 0; step < kFew; ++step) {
      for (const std::int32_t input : {Recurrence::kFactor, Recurrence::kLane})
        if (step == 0) load(input, lane);
      for (const std::int32_t input : {Recurrence::kUniformFactor, Recurrence::kUniform})
        if (step == 0) load(input, 0);
      load(Recurrence::kSlice, (step * lanes + lane) * apart);
      load(Recurrence::kUniformSlice, step);
      tensor::eval_scalar(program, registers.data());
      ASSERT_TRUE(check(2, 2, step * lanes + lane) && check(3, 3, step * lanes + lane) &&
                  check(4, 4, step))
          << dtype_name(loop.dtype) << ", " << lanes << " lanes, lane " << lane << ", step "
          << step;
      for (const std::int32_t state : {0, 1})
        registers[static_cast<std::size_t>(Recurrence::kLane + state)] =
            registers[static_cast<std::size_t>(program.results[static_cast<std::size_t>(state)])];
    }
    ASSERT_TRUE(check(0, 0, lane) && check(1, 1, 0))
        << dtype_name(loop.dtype) << ", " << lanes << " lanes, last states of lane " << lane;
  }
  for (const std::vector<std::byte>& output : outputs)
    for (std::size_t i = output.size() - kBehind; i < output.size(); ++i)
      ASSERT_EQ(output[i], kUntouched) << dtype_name(loop.dtype) << ", " << lanes << " lanes";
}

TEST_P(Compile, EveryNumberOfLanesEqualsTheEvaluator) {
  std::vector<std::int64_t> counts = {47, 63, 64, 65, 79, 81, 100, 127, 128, 130, 300};
  for (std::int64_t lanes = 1; lanes <= 40; ++lanes) counts.push_back(lanes);
  for (const DType dtype :
       {DType::f32, DType::f64, DType::i64, DType::boolean, DType::f16, DType::bf16})
    for (const std::int64_t lanes : counts)
      for (const bool apart : {false, true}) {
        check_recurrence({dtype, lanes, apart});
        if (HasFatalFailure()) return;
      }
}

INSTANTIATE_TEST_SUITE_P(Isas, Compile,
                         testing::Values(Isa::baseline, Isa::avx2, Isa::avx512, Isa::neon),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

TEST(CompiledLoop, SaysWhereTheConditionStoppedIt) {
  if (compiler() == nullptr) GTEST_SKIP() << "built without the loop compiler";
  // x <- x + 1 while x < 10.
  LoopSource source;
  source.name = "counter";
  source.has_keep_going = true;
  source.carried = {{DType::i64, 0}};
  ScalarProgram& program = source.program;
  program.inputs = {DType::i64};
  const auto one = program.append({.op = ScalarOp::constant, .dtype = DType::i64, .bits = 1});
  const auto limit = program.append({.op = ScalarOp::constant, .dtype = DType::i64, .bits = 10});
  const auto next =
      program.append({.op = ScalarOp::add, .dtype = DType::i64, .args = {0, one, -1}});
  const auto less =
      program.append({.op = ScalarOp::less, .dtype = DType::i64, .args = {next, limit, -1}});
  program.results = {less, next};
  const auto compiled = compiler()->compile(source);
  ASSERT_TRUE(compiled) << compiled.error().message();
  const std::int64_t start = 3;
  std::int64_t end = 0;
  const std::byte* in = reinterpret_cast<const std::byte*>(&start);
  std::byte* out = reinterpret_cast<std::byte*>(&end);
  const LoopFrame frame{nullptr, &in, &out, nullptr, nullptr, nullptr, nullptr};
  EXPECT_EQ(compiled->run(&frame, 0, 100), -1 - 7);
  EXPECT_EQ(end, 10);
  EXPECT_EQ(compiled->run(&frame, 0, 4), 4);
  EXPECT_EQ(end, 7);
  // The condition turns false in the very last step that was asked for.
  EXPECT_EQ(compiled->run(&frame, 0, 7), -1 - 7);
}

// v <- v / 2 + x and s <- s + log(v): the logarithm does not recur, and is computed for many steps
// at once.
TEST(CompiledLoop, WhatDoesNotRecurIsTheSameInChunks) {
  if (compiler() == nullptr) GTEST_SKIP() << "built without the loop compiler";
  constexpr std::int64_t kMany = 1100;
  LoopSource source;
  source.name = "stages";
  source.carried = {{DType::f64, 0}, {DType::f64, 0}};
  source.scanned = source.stacked = {{DType::f64, 0}};
  ScalarProgram& program = source.program;
  program.inputs = {DType::f64, DType::f64, DType::f64};
  const auto op = [&](ScalarOp name, std::int32_t a, std::int32_t b) {
    return program.append({.op = name, .dtype = DType::f64, .args = {a, b, -1}});
  };
  const auto half = program.append(
      {.op = ScalarOp::constant, .dtype = DType::f64, .bits = std::bit_cast<std::uint64_t>(0.5)});
  const auto variance = op(ScalarOp::add, op(ScalarOp::mul, 0, half), 2);
  const auto log = op(ScalarOp::log, variance, -1);
  const auto sum = op(ScalarOp::add, 1, log);
  program.results = {variance, sum, log};
  const auto compiled = compiler()->compile(source);
  ASSERT_TRUE(compiled) << compiled.error().message();
  std::mt19937 random(3);
  std::vector<double> x(kMany);
  for (double& value : x) value = static_cast<double>(random() % 1000 + 1) * 0.01;
  // The same steps in calls of other lengths, below, at and above that of a chunk.
  for (const std::int64_t length : {1, 31, 255, 256, 257, 513, 1100}) {
    std::vector<double> rows(kMany, -1);
    double states[2][2] = {{1, 0}, {0, 0}};
    double v = 1, s = 0;
    int from = 0;
    for (std::int64_t first = 0; first < kMany; first += length, from = 1 - from) {
      const std::byte* in[] = {reinterpret_cast<const std::byte*>(&states[from][0]),
                               reinterpret_cast<const std::byte*>(&states[from][1])};
      std::byte* out[] = {reinterpret_cast<std::byte*>(&states[1 - from][0]),
                          reinterpret_cast<std::byte*>(&states[1 - from][1])};
      const auto* slices = reinterpret_cast<const std::byte*>(x.data());
      auto* stacked = reinterpret_cast<std::byte*>(rows.data());
      const std::int64_t stride = sizeof(double), last = std::min(kMany, first + length);
      const LoopFrame frame{nullptr, in, out, &slices, &stride, &stacked, &stride};
      ASSERT_EQ(compiled->run(&frame, first, last), last);
    }
    for (std::int64_t step = 0; step < kMany; ++step) {
      tensor::ScalarReg values[8] = {};
      v = v * 0.5 + x[static_cast<std::size_t>(step)];
      ScalarProgram alone;
      alone.inputs = {DType::f64};
      alone.append({.op = ScalarOp::log, .dtype = DType::f64, .args = {0, -1, -1}});
      tensor::load_scalars(DType::f64, reinterpret_cast<const std::byte*>(&v), 0, values, 1);
      tensor::eval_scalar(alone, values);
      double logarithm = 0;
      tensor::store_scalars(DType::f64, &values[1], reinterpret_cast<std::byte*>(&logarithm), 0, 1);
      ASSERT_EQ(rows[static_cast<std::size_t>(step)], logarithm)
          << "calls of " << length << " steps, step " << step;
      s += logarithm;
    }
    EXPECT_EQ(states[from][0], v) << length;
    EXPECT_EQ(states[from][1], s) << length;
  }
}

/// h <- h / 2 + x over many lanes, every h kept: more rows than caches hold.
TEST(CompiledLoop, LargeRowsPassTheCaches) {
  if (compiler() == nullptr) GTEST_SKIP() << "built without the loop compiler";
  constexpr std::size_t kWide = 4096, kMany = 513;
  LoopSource source;
  source.name = "wide";
  source.lanes = kWide;
  source.carried = source.scanned = source.stacked = {{DType::f32, 1}};
  ScalarProgram& program = source.program;
  program.inputs = {DType::f32, DType::f32};
  const auto half = program.append(
      {.op = ScalarOp::constant, .dtype = DType::f32, .bits = std::bit_cast<std::uint32_t>(0.5F)});
  const auto halved =
      program.append({.op = ScalarOp::mul, .dtype = DType::f32, .args = {0, half, -1}});
  const auto next =
      program.append({.op = ScalarOp::add, .dtype = DType::f32, .args = {halved, 1, -1}});
  program.results = {next, next};
  const auto compiled = compiler()->compile(source);
  ASSERT_TRUE(compiled) << compiled.error().message();
  std::vector<float> x(kMany * kWide), first(kWide, 1), last(kWide);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97) * 0.25F;
  std::vector<float> memory(kMany * kWide + 32);
  for (const std::size_t offset : {0, 1}) {  // aligned for such stores, and not
    const std::size_t begin = (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) / 4 % 16;
    float* const rows = memory.data() + begin + offset;
    const auto* in = reinterpret_cast<const std::byte*>(first.data());
    auto* out = reinterpret_cast<std::byte*>(last.data());
    const auto* slices = reinterpret_cast<const std::byte*>(x.data());
    auto* stacked = reinterpret_cast<std::byte*>(rows);
    const std::int64_t stride = kWide * sizeof(float);
    const LoopFrame frame{nullptr, &in, &out, &slices, &stride, &stacked, &stride};
    ASSERT_EQ(compiled->run(&frame, 0, kMany), static_cast<std::int64_t>(kMany));
    for (std::size_t lane = 0; lane < kWide; ++lane) {
      float h = 1;
      for (std::size_t step = 0; step < kMany; ++step) {
        h = h * 0.5F + x[step * kWide + lane];
        ASSERT_EQ(rows[step * kWide + lane], h) << "step " << step << ", lane " << lane;
      }
      ASSERT_EQ(last[lane], h);
    }
  }
}

// Steps in which the flag is set count 30 ns, of which 100 are left.
TEST(CompiledBody, ReturnsAfterTheStepThatIsChargedItsTime) {
  if (compiler() == nullptr) GTEST_SKIP() << "no compiler in this build";
  BodySource source;
  Statement branch, charge;
  charge.kind = Statement::Kind::charge;
  charge.nanoseconds = 30;
  branch.kind = Statement::Kind::branch;
  branch.condition = {0, DType::boolean, 0, {}};
  branch.inner = {charge};
  source.statements = {branch};
  source.moves = {{0, 1}};
  const Expected<CompiledBody> body = compiler()->compile_body(source);
  ASSERT_TRUE(body) << body.error().message();
  std::vector<std::byte> flags(20, std::byte{0});
  for (std::size_t i = 5; i < flags.size(); ++i) flags[i] = std::byte{1};
  std::byte* slot = flags.data();
  BodyFrame frame{&slot, nullptr, 0};
  frame.time_left = 100;
  EXPECT_EQ(body->run(&frame, 0, 20), 9);
  EXPECT_EQ(slot, flags.data() + 9) << "as the next step needs it";
  EXPECT_EQ(body->run(&frame, 9, 11), 11) << "the time is the caller's to set";
}

}  // namespace
}  // namespace scanloom::jit
