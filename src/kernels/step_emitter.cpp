#include "kernels/step_emitter.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace scanloom::kernels {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;

/// Whether arguments may be swapped. At most the payload of a NaN changes.
bool commutes(ScalarOp op) {
  return op == ScalarOp::add || op == ScalarOp::mul || op == ScalarOp::min || op == ScalarOp::max;
}

bool are_constant(const StepArgs& args) {
  return std::ranges::all_of(args, [](const StepValue& v) {
    return v.kind == StepValue::Kind::none || v.kind == StepValue::Kind::constant;
  });
}

}  // namespace

StepValue StepEmitter::constant(std::uint64_t bits, DType dtype) {
  constants_.push_back(bits);
  return {StepValue::Kind::constant, static_cast<int>(constants_.size()) - 1, dtype};
}

template <class T>
StepValue StepEmitter::constants(const T& numbers) {
  const std::size_t first = constants_.size();
  constants_.resize(first + (sizeof(T) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
  std::memcpy(&constants_[first], &numbers, sizeof(T));
  return {StepValue::Kind::constant, static_cast<int>(first), DType::u64};
}

template <class T>
T StepEmitter::number_at(std::int32_t reg, std::span<const StepValue> registers, T absent) const {
  if (reg < 0) return absent;
  const auto index = static_cast<std::size_t>(registers[static_cast<std::size_t>(reg)].index);
  T number;
  std::memcpy(&number, &constants_[index], sizeof(T));
  return number;
}

StepValue StepEmitter::emit(ElementFn fn, DType dtype, const StepArgs& args) {
  return are_constant(args) ? fold(fn, dtype, args) : add_step(fn, dtype, args);
}

// Evaluates the step now.
StepValue StepEmitter::fold(ElementFn fn, DType dtype, const StepArgs& args) {
  std::array<std::uint64_t, 3> bits{};
  for (std::size_t i = 0; i < 3; ++i)
    if (args[i].kind == StepValue::Kind::constant)
      bits[i] = constants_[static_cast<std::size_t>(args[i].index)];
  std::uint64_t result = 0;
  const auto at = [&](std::size_t i) { return reinterpret_cast<const std::byte*>(&bits[i]); };
  fn(reinterpret_cast<std::byte*>(&result), at(0), at(1), at(2), 1);
  return constant(result, dtype);
}

// For functions that need columns: broadcasts single arguments, unless all of them are constant.
StepValue StepEmitter::emit_columns(ElementFn fn, DType dtype, StepArgs args) {
  if (!are_constant(args))
    for (StepValue& arg : args)
      if (arg.kind != StepValue::Kind::none) arg = spread(arg);
  return emit(fn, dtype, args);
}

std::optional<StepValue> StepEmitter::as_compute(const StepValue& value) {
  const DType compute = compute_dtype(value.dtype);
  if (compute == value.dtype) return value;
  ElementFn fn = simd_.conversion(value.dtype, compute);
  if (fn == nullptr) fn = widen_fn(value.dtype);
  if (fn == nullptr) return std::nullopt;
  return emit_columns(fn, compute, {value});
}

std::optional<StepValue> StepEmitter::emit_instr(const ScalarInstr& instr,
                                                 std::span<const StepValue> registers) {
  if (instr.op == ScalarOp::constant) return constant(instr.bits, instr.dtype);
  StepArgs args;
  for (std::size_t i = 0; i < 3; ++i)
    if (instr.args[i] >= 0) args[i] = registers[static_cast<std::size_t>(instr.args[i])];
  if (instr.op == ScalarOp::select) return emit_select(instr.dtype, args);
  if (instr.op == ScalarOp::cast) return emit_cast(args[0], instr.dtype);
  return emit_arithmetic(instr, args);
}

std::optional<StepValue> StepEmitter::emit_quantized(const QuantizedStep& step,
                                                     std::span<const StepValue> registers) {
  const auto at = [&](std::int32_t reg) { return registers[static_cast<std::size_t>(reg)]; };
  const StepValue zero = step.zero < 0 ? constant(0, step.integer) : at(step.zero);
  const StepValue scale =
      step.scale < 0 ? constant(std::bit_cast<std::uint32_t>(1.0f), DType::f32) : at(step.scale);
  const bool has_zero = zero.kind != StepValue::Kind::constant ||
                        constants_[static_cast<std::size_t>(zero.index)] != 0;
  if (!step.quantizes && !has_zero)
    if (const ElementFn scales = bytes_.scale_column(step.integer); scales != nullptr)
      return emit(scales, DType::f32, {spread(at(step.x)), scale});
  const DType to = step.quantizes ? step.integer : DType::f32;
  const ElementFn fn = step.quantizes ? bytes_.quantize_column(step.integer)
                                      : bytes_.dequantize_column(step.integer);
  if (fn == nullptr) return std::nullopt;
  return emit(fn, to, {spread(at(step.x)), scale, zero});
}

StepValue StepEmitter::emit_quantized_pair(QuantizedPair pair,
                                           std::span<const StepValue> registers) {
  const auto value = [&](const QuantizedStep& step) -> const StepValue& {
    return registers[static_cast<std::size_t>(step.x)];
  };
  // A single byte goes second; the order changes no byte of the result.
  if (is_single(value(pair.a)) && !pair.has_number()) std::swap(pair.a, pair.b);
  const bool has_single = is_single(value(pair.b));
  const DType integer = pair.result.integer;
  const auto scale = [&](const QuantizedStep& step) {
    return number_at<float>(step.scale, registers, 1);
  };
  const auto zero = [&](const QuantizedStep& step) -> std::int32_t {
    return integer == DType::i8 ? number_at<std::int8_t>(step.zero, registers, 0)
                                : number_at<std::uint8_t>(step.zero, registers, 0);
  };
  const StepValue scales = constants(QuantizedPairScales{.a_scale = scale(pair.a),
                                                         .b_scale = scale(pair.b),
                                                         .result_scale = scale(pair.result),
                                                         .a_zero = zero(pair.a),
                                                         .b_zero = zero(pair.b),
                                                         .result_zero = zero(pair.result)});
  const StepValue b = has_single ? value(pair.b) : spread(value(pair.b));
  const ElementFn fn = bytes_.quantized_pair(
      integer,
      {.multiplies = pair.multiplies, .has_number = pair.has_number(), .is_single = has_single});
  return add_step(fn, integer, {spread(value(pair.a)), scales, b});
}

std::optional<StepValue> StepEmitter::emit_select(DType dtype, const StepArgs& args) {
  const bool is_or_zero = args[2].kind == StepValue::Kind::constant &&
                          constants_[static_cast<std::size_t>(args[2].index)] == 0;
  if (const ElementFn kept = joined_.kept(static_cast<int>(dtype_bytes(dtype)));
      is_or_zero && kept != nullptr)
    return emit_columns(kept, dtype, {args[0], args[1]});
  const ElementFn fn = simd_.choice(static_cast<int>(dtype_bytes(dtype)));
  if (fn == nullptr) return std::nullopt;
  return emit_columns(fn, dtype, args);
}

// Null if the cast takes several steps.
ElementFn StepEmitter::direct_conversion(DType from, DType to) const {
  const ElementFn vectors = simd_.conversion(from, to);
  return vectors != nullptr ? vectors : direct_fn(from, to);
}

std::optional<StepValue> StepEmitter::emit_cast(const StepValue& from, DType to) {
  if (from.dtype == to) return from;
  if (const ElementFn direct = direct_conversion(from.dtype, to); direct != nullptr)
    return emit_columns(direct, to, {from});
  std::optional<StepValue> wide = as_compute(from);
  if (!wide) return std::nullopt;
  // Integers become f16 and bf16 by way of f32, which has vector code.
  const bool is_half = to == DType::f16 || to == DType::bf16;
  if (is_half && !is_floating_point(wide->dtype))
    wide = emit_columns(convert_fn(wide->dtype, DType::f32), DType::f32, {*wide});
  const ElementFn direct = direct_conversion(wide->dtype, to);
  const ElementFn fn = direct != nullptr ? direct : convert_fn(wide->dtype, to);
  if (fn == nullptr) return std::nullopt;
  return emit_columns(fn, to, {*wide});
}

std::optional<StepValue> StepEmitter::emit_arithmetic(const ScalarInstr& instr, StepArgs args) {
  const bool compares = tensor::scalar_op_compares(instr.op);
  if (instr.op != ScalarOp::mul_add) args[2] = {};
  // The results in i32 are the low bits of those in i64.
  if (instr.dtype == DType::i32)
    if (const auto out =
            emit_vectors(instr.op, DType::i32, compares ? DType::boolean : DType::i32, args))
      return out;
  const DType compute = compute_dtype(instr.dtype);
  for (StepValue& arg : args) {
    if (arg.kind == StepValue::Kind::none) continue;
    const std::optional<StepValue> wide = as_compute(arg);
    if (!wide) return std::nullopt;
    arg = *wide;
  }
  const DType result = compares ? DType::boolean : compute;
  std::optional<StepValue> out = emit_vectors(instr.op, compute, result, args);
  if (!out) {
    const ElementFn fn = plain_fn(instr.op, compute, dtype_file_bits(instr.dtype));
    if (fn == nullptr) return std::nullopt;
    out = emit_columns(fn, result, args);
  }
  if (compares || compute == instr.dtype) return out;
  const ElementFn direct = simd_.conversion(compute, instr.dtype);
  return emit_columns(direct != nullptr ? direct : narrow_fn(instr.dtype), instr.dtype, {*out});
}

std::optional<StepValue> StepEmitter::emit_vectors(ScalarOp op, DType dtype, DType result,
                                                   StepArgs args) {
  VectorFns fns;
  if (dtype == DType::f32) fns = simd_.f32_elements(op);
  if (dtype == DType::f64) fns = simd_.f64_elements(op);
  if (dtype == DType::i32) fns = simd_.i32_elements(op);
  if (dtype == DType::boolean) fns = simd_.truths(op);
  if (result == DType::boolean && fns.columns == nullptr) fns = simd_.comparison(op, dtype);
  if (fns.columns == nullptr) return std::nullopt;
  // Single arguments go second, where steps are joined.
  if (commutes(op) && is_single(args[0]) && !is_single(args[1])) std::swap(args[0], args[1]);
  const bool first = is_single(args[0]), second = is_single(args[1]);
  if (first && !second && fns.first_single != nullptr) return emit(fns.first_single, result, args);
  if (second && !first && fns.second_single != nullptr)
    return emit(fns.second_single, result, args);
  return emit_columns(fns.columns, result, args);
}

}  // namespace scanloom::kernels
