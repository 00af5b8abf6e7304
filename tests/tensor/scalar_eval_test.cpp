#include "tensor/scalar_eval.h"

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tensor/visit.h"

namespace scanloom::tensor {
namespace {

template <class T>
ScalarReg reg(T value) {
  ScalarReg result;
  std::memcpy(static_cast<void*>(&result), &value, sizeof value);
  return result;
}
template <class T>
T value(const ScalarReg& from) {
  T result;
  std::memcpy(static_cast<void*>(&result), &from, sizeof result);
  return result;
}

ScalarProgram single(ScalarOp op, DType dtype, std::vector<DType> inputs) {
  ScalarProgram program{std::move(inputs), {}, {}};
  ScalarInstr instr{.op = op, .dtype = dtype};
  for (std::size_t i = 0; i < program.inputs.size(); ++i)
    instr.args[i] = static_cast<std::int32_t>(i);
  program.results = {program.append(instr)};
  return program;
}

/// The instruction on values of one type; To is the type of the result.
template <class To, class T>
To run(ScalarOp op, DType dtype, T a) {
  const auto program = single(op, dtype, {dtype_of<T>});
  EXPECT_TRUE(supports(program));
  ScalarReg registers[2] = {reg(a), {}};
  eval_scalar(program, registers);
  return value<To>(registers[1]);
}
template <class T>
T run2(ScalarOp op, T a, T b) {
  const auto program = single(op, dtype_of<T>, {dtype_of<T>, dtype_of<T>});
  EXPECT_TRUE(supports(program));
  ScalarReg registers[3] = {reg(a), reg(b), {}};
  eval_scalar(program, registers);
  return value<T>(registers[2]);
}
template <class T>
bool compare(ScalarOp op, T a, T b) {
  const auto program = single(op, dtype_of<T>, {dtype_of<T>, dtype_of<T>});
  EXPECT_TRUE(supports(program));
  ScalarReg registers[3] = {reg(a), reg(b), {}};
  eval_scalar(program, registers);
  return registers[2].low != 0;
}
template <class To, class T>
To cast(T a) {
  return run<To>(ScalarOp::cast, dtype_of<To>, a);
}

constexpr auto kMin32 = std::numeric_limits<std::int32_t>::min();
constexpr auto kMin64 = std::numeric_limits<std::int64_t>::min();
const float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(ScalarEvalTest, IntegersWrapAndNeverTrap) {
  EXPECT_EQ(run2(ScalarOp::add, std::int8_t{127}, std::int8_t{1}), -128);
  EXPECT_EQ(run2(ScalarOp::mul, kMin64, std::int64_t{-1}), kMin64);
  EXPECT_EQ(run2(ScalarOp::sub, std::uint8_t{0}, std::uint8_t{1}), 255);
  EXPECT_EQ(run2(ScalarOp::div, kMin64, std::int64_t{-1}), kMin64);
  EXPECT_EQ(run2(ScalarOp::div, kMin32, std::int32_t{-1}), kMin32);
  EXPECT_EQ(run2(ScalarOp::div, std::int32_t{-7}, std::int32_t{2}), -3);
  EXPECT_EQ(run2(ScalarOp::div, std::int64_t{5}, std::int64_t{0}), 0);
  EXPECT_EQ(run2(ScalarOp::mod_floor, std::int32_t{-7}, std::int32_t{3}), 2);
  EXPECT_EQ(run2(ScalarOp::mod_floor, std::int32_t{7}, std::int32_t{-3}), -2);
  EXPECT_EQ(run2(ScalarOp::mod_trunc, std::int32_t{-7}, std::int32_t{3}), -1);
  EXPECT_EQ(run2(ScalarOp::mod_floor, kMin64, std::int64_t{-1}), 0);
  EXPECT_EQ(run2(ScalarOp::mod_trunc, std::uint32_t{7}, std::uint32_t{0}), 0u);
  EXPECT_EQ(run<std::int32_t>(ScalarOp::abs, DType::i32, kMin32), kMin32);
  EXPECT_EQ(run<std::int32_t>(ScalarOp::neg, DType::i32, kMin32), kMin32);
  EXPECT_EQ(run2(ScalarOp::pow, std::int64_t{3}, std::int64_t{4}), 81);
  EXPECT_EQ(run2(ScalarOp::pow, std::int8_t{3}, std::int8_t{5}), static_cast<std::int8_t>(243));
  EXPECT_EQ(run2(ScalarOp::pow, std::int64_t{-1}, std::int64_t{-3}), -1);
  EXPECT_EQ(run2(ScalarOp::pow, std::int64_t{2}, std::int64_t{-1}), 0);
}

TEST(ScalarEvalTest, NarrowIntegersWrapAtTheirWidth) {
  EXPECT_EQ(run2(ScalarOp::add, Int4::from(7), Int4::from(1)).to_int(), -8);
  EXPECT_EQ(run2(ScalarOp::mul, UInt4::from(5), UInt4::from(5)).to_int(), 9);
  EXPECT_EQ(run<UInt6>(ScalarOp::bit_not, DType::u6, UInt6::from(1)).to_int(), 62);
  EXPECT_EQ(run2(ScalarOp::shift_left, UInt4::from(3), UInt4::from(3)).to_int(), 8);
  EXPECT_EQ(run2(ScalarOp::shift_left, UInt4::from(3), UInt4::from(4)).to_int(), 0);
}

TEST(ScalarEvalTest, ShiftsByTheWidthOrMore) {
  EXPECT_EQ(run2(ScalarOp::shift_left, std::uint32_t{1}, std::uint32_t{31}), 1u << 31);
  EXPECT_EQ(run2(ScalarOp::shift_left, std::uint32_t{1}, std::uint32_t{32}), 0u);
  EXPECT_EQ(run2(ScalarOp::shift_right, std::int32_t{-8}, std::int32_t{1}), -4);
  EXPECT_EQ(run2(ScalarOp::shift_right, std::int32_t{-8}, std::int32_t{99}), -1);
  EXPECT_EQ(run2(ScalarOp::shift_right, std::int64_t{8}, std::int64_t{-1}), 0);
  EXPECT_EQ(run2(ScalarOp::shift_right, std::uint64_t{8}, std::uint64_t{64}), 0u);
}

TEST(ScalarEvalTest, MinAndMaxPropagateNanAndOrderZeros) {
  EXPECT_TRUE(std::isnan(run2(ScalarOp::min, kNan, 1.0f)));
  EXPECT_TRUE(std::isnan(run2(ScalarOp::max, 1.0f, kNan)));
  EXPECT_TRUE(std::signbit(run2(ScalarOp::min, 0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(run2(ScalarOp::max, -0.0, 0.0)));
  EXPECT_EQ(run2(ScalarOp::max, Half::from(1.0), Half::from(2.0)).to_float(), 2.0f);
}

TEST(ScalarEvalTest, FloatsModuloRoundingAndSign) {
  EXPECT_EQ(run2(ScalarOp::mod_floor, -7.0f, 3.0f), 2.0f);
  EXPECT_EQ(run2(ScalarOp::mod_trunc, -7.0f, 3.0f), -1.0f);
  EXPECT_TRUE(std::isnan(run2(ScalarOp::mod_floor, 1.0f, 0.0f)));
  EXPECT_EQ(run<float>(ScalarOp::round_even, DType::f32, 2.5f), 2.0f);
  EXPECT_EQ(run<float>(ScalarOp::round_even, DType::f32, -1.5f), -2.0f);
  EXPECT_EQ(run<double>(ScalarOp::trunc, DType::f64, -1.7), -1.0);
  EXPECT_TRUE(std::isnan(run<float>(ScalarOp::sign, DType::f32, kNan)));
  EXPECT_EQ(run<float>(ScalarOp::sign, DType::f32, -3.0f), -1.0f);
  EXPECT_TRUE(std::signbit(run<float>(ScalarOp::neg, DType::f32, 0.0f)));
}

TEST(ScalarEvalTest, NarrowFloatsRoundAfterEveryInstruction) {
  // 2048 + 1 is not an f16; rounding each sum to even keeps 2048.
  EXPECT_EQ(run2(ScalarOp::add, Half::from(2048.0), Half::from(1.0)).to_float(), 2048.0f);
  EXPECT_EQ(run2(ScalarOp::mul, BFloat16::from(1.0078125), BFloat16::from(1.0078125)).to_float(),
            1.015625f);
  EXPECT_EQ(run2(ScalarOp::add, F8E4M3FN::from(448), F8E4M3FN::from(448)).to_float(), 448.0f);
  EXPECT_EQ(run2(ScalarOp::add, Half::from(65504), Half::from(65504)).to_float(), INFINITY);
}

TEST(ScalarEvalTest, Comparisons) {
  EXPECT_FALSE(compare(ScalarOp::equal, kNan, kNan));
  EXPECT_TRUE(compare(ScalarOp::equal, 0.0f, -0.0f));
  EXPECT_TRUE(compare(ScalarOp::less, std::int8_t{-1}, std::int8_t{0}));
  EXPECT_FALSE(compare(ScalarOp::less, std::uint8_t{255}, std::uint8_t{0}));
  EXPECT_TRUE(compare(ScalarOp::less_equal, Half::from(-1.0), Half::from(-1.0)));
  EXPECT_TRUE(run<bool>(ScalarOp::is_nan, DType::f32, kNan));
  EXPECT_TRUE(run<bool>(ScalarOp::is_inf, DType::f64, -std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(run<bool>(ScalarOp::is_inf, DType::i32, std::int32_t{1}));
  const std::string a = "same", b = "same";
  EXPECT_TRUE(compare(ScalarOp::equal, StringRef{a.data(), 4}, StringRef{b.data(), 4}));
  EXPECT_FALSE(compare(ScalarOp::equal, StringRef{a.data(), 4}, StringRef{b.data(), 3}));
}

TEST(ScalarEvalTest, FloatsToIntegersSaturate) {
  EXPECT_EQ(cast<std::int32_t>(kNan), 0);
  EXPECT_EQ(cast<std::int32_t>(1e20f), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(cast<std::int32_t>(-INFINITY), kMin32);
  EXPECT_EQ(cast<std::int64_t>(9.3e18), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(cast<std::int64_t>(-9.3e18f), kMin64);
  EXPECT_EQ(cast<std::uint8_t>(-3.0f), 0);
  EXPECT_EQ(cast<std::uint8_t>(255.9f), 255);
  EXPECT_EQ(cast<std::uint64_t>(1.8446744073709552e19), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(cast<std::int8_t>(-1.9f), -1);
  // Integers narrower than a byte keep the low bits, as the tests of ONNX have it: 0b0110'0100.
  EXPECT_EQ(cast<Int4>(100.0f).to_int(), 4);
  EXPECT_EQ(cast<Int4>(-100.0).to_int(), -4);
  EXPECT_TRUE(cast<bool>(kNan));
  EXPECT_FALSE(cast<bool>(-0.0f));
}

TEST(ScalarEvalTest, OtherCasts) {
  EXPECT_EQ(cast<std::int8_t>(std::int32_t{300}), 44);
  EXPECT_EQ(cast<std::uint64_t>(std::int32_t{-1}), ~std::uint64_t{0});
  EXPECT_EQ(cast<std::int64_t>(std::uint32_t{0xffffffff}), 0xffffffff);
  EXPECT_EQ(cast<float>(true), 1.0f);
  EXPECT_EQ(cast<float>(std::uint64_t{1} << 63), 9223372036854775808.0f);
  EXPECT_EQ(cast<Half>(1.0 + 0x1p-11 + 0x1p-40).bits, 0x3c01);  // once rounded, not twice
  EXPECT_EQ(cast<F8E4M3FN>(1000.0f).to_float(), 448.0f);
  EXPECT_EQ(cast<Int4>(std::int64_t{9}).to_int(), -7);
  EXPECT_EQ(cast<std::complex<float>>(2.0f), (std::complex<float>{2.0f, 0.0f}));
  EXPECT_EQ(cast<float>(std::complex<double>{2.0, 5.0}), 2.0f);
  EXPECT_TRUE(cast<bool>(std::complex<double>{0.0, 5.0}));
  EXPECT_EQ(cast<float>(kNan) == 0, false);
}

TEST(ScalarEvalTest, ComplexNumbersAndSelect) {
  using C = std::complex<double>;
  EXPECT_EQ(run2(ScalarOp::mul, C{1, 2}, C{3, 4}), (C{-5, 10}));
  EXPECT_EQ(run2(ScalarOp::sub, C{1, 2}, C{3, 4}), (C{-2, -2}));
  ScalarProgram program{{DType::boolean, DType::c128, DType::c128}, {}, {}};
  program.results = {program.append({ScalarOp::select, DType::c128, {0, 1, 2}, 0})};
  ASSERT_TRUE(supports(program));
  ScalarReg registers[4] = {reg(false), reg(C{1, 2}), reg(C{3, 4}), {}};
  eval_scalar(program, registers);
  EXPECT_EQ(value<C>(registers[3]), (C{3, 4}));
}

TEST(ScalarEvalTest, WhatIsNotDefinedIsDeclared) {
  EXPECT_FALSE(supports(single(ScalarOp::add, DType::string, {DType::string, DType::string})));
  EXPECT_FALSE(supports(single(ScalarOp::less, DType::c64, {DType::c64, DType::c64})));
  EXPECT_FALSE(supports(single(ScalarOp::exp, DType::i32, {DType::i32})));
  EXPECT_FALSE(supports(single(ScalarOp::bit_and, DType::f32, {DType::f32, DType::f32})));
  EXPECT_FALSE(supports(single(ScalarOp::cast, DType::f32, {DType::string})));
  EXPECT_TRUE(supports(single(ScalarOp::cast, DType::string, {DType::string})));
  EXPECT_TRUE(supports(single(ScalarOp::exp, DType::bf16, {DType::bf16})));
}

TEST(ScalarEvalTest, ColumnsLongerThanABlock) {
  ScalarProgram program{{DType::f32}, {}, {}};
  const auto two =
      program.append({ScalarOp::constant, DType::f32, {-1, -1, -1}, scalar_bits(2.0, DType::f32)});
  const auto doubled = program.append({ScalarOp::mul, DType::f32, {0, two, -1}, 0});
  program.results = {program.append({ScalarOp::less, DType::f32, {0, doubled, -1}, 0})};
  constexpr std::int64_t kCount = 150;
  std::vector<ScalarReg> registers(4 * kCount);
  for (std::int64_t i = 0; i < kCount; ++i)
    registers[static_cast<std::size_t>(i)] = reg(static_cast<float>(i - 75));
  eval_scalar(program, registers.data(), kCount);
  for (std::int64_t i = 0; i < kCount; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(value<float>(registers[at + 2 * kCount]), static_cast<float>(2 * (i - 75)));
    EXPECT_EQ(registers[at + 3 * kCount].low, i > 75 ? 1u : 0u);
  }
}

TEST(ScalarEvalTest, LoadsAndStoresStridedElements) {
  const std::int16_t source[] = {-1, 0, -3, 0};
  ScalarReg registers[2];
  load_scalars(DType::i16, reinterpret_cast<const std::byte*>(source), 4, registers, 2);
  EXPECT_EQ(registers[0].low, 0xffffu);
  std::int16_t target[4] = {};
  store_scalars(DType::i16, registers, reinterpret_cast<std::byte*>(target + 3), -6, 2);
  EXPECT_EQ(target[3], -1);
  EXPECT_EQ(target[0], -3);
}

TEST(ScalarEvalTest, ConstantsOfEveryKind) {
  EXPECT_EQ(scalar_bits(-1.0, DType::f32), 0xbf800000u);
  EXPECT_EQ(scalar_bits(std::int64_t{-1}, DType::i32), 0xffffffffu);
  EXPECT_EQ(scalar_bits(1e9, DType::i8), 127u);
  EXPECT_EQ(scalar_bits(1.0, DType::f16), 0x3c00u);
  EXPECT_EQ(scalar_bits(std::int64_t{1}, DType::boolean), 1u);
}

}  // namespace
}  // namespace scanloom::tensor
