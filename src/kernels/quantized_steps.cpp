#include "kernels/quantized_steps.h"

#include <utility>

namespace scanloom::kernels {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;
using tensor::ScalarProgram;

bool is_short_integer(DType dtype) {
  return dtype == DType::u8 || dtype == DType::i8 || dtype == DType::u16 || dtype == DType::i16;
}

class StepFinder {
 public:
  StepFinder(const ScalarProgram& program, const KnownRegisters& known)
      : program_(program), known_(known) {}

  QuantizedSteps find() {
    QuantizedSteps found;
    const std::size_t instrs = program_.instrs.size();
    found.at.resize(instrs);
    found.pairs.resize(instrs);
    found.is_needed.resize(instrs);
    for (std::size_t i = 0; i < instrs; ++i) {
      const auto reg = static_cast<std::int32_t>(count() + i);
      std::optional<QuantizedStep> step = quantized(reg);
      if (!step) step = dequantized(reg);
      if (!step || !has_parameters(*step, known_.is_single)) continue;
      found.at[i] = step;
      found.pairs[i] = quantized_pair(*step);
    }
    for (const std::int32_t result : program_.results) need(found, result);
    for (std::size_t i = instrs; i-- > 0;) {
      if (!found.is_needed[i]) continue;
      if (const auto& pair = found.pairs[i]; pair)
        for (const QuantizedStep& step : {pair->a, pair->b}) need(found, step.x);
      else if (const auto& step = found.at[i]; step)
        for (const std::int32_t reg : {step->x, step->scale, step->zero}) need(found, reg);
      else
        for (const std::int32_t reg : program_.instrs[i].args) need(found, reg);
    }
    return found;
  }

 private:
  [[nodiscard]] std::size_t count() const { return program_.inputs.size(); }

  void need(QuantizedSteps& found, std::int32_t reg) const {
    if (reg >= static_cast<std::int32_t>(count()))
      found.is_needed[static_cast<std::size_t>(reg) - count()] = true;
  }

  /// Returns the instruction that computes the register if it is this one.
  [[nodiscard]] const ScalarInstr* is(std::int32_t reg, ScalarOp op, DType dtype) const {
    if (reg < static_cast<std::int32_t>(count())) return nullptr;
    const ScalarInstr& instr = program_.instrs[static_cast<std::size_t>(reg) - count()];
    return instr.op == op && instr.dtype == dtype ? &instr : nullptr;
  }

  /// Returns what is cast to `dtype`; -1 if it is no cast.
  [[nodiscard]] std::int32_t cast_from(std::int32_t reg, DType dtype) const {
    const ScalarInstr* const cast = is(reg, ScalarOp::cast, dtype);
    return cast == nullptr ? -1 : cast->args[0];
  }

  [[nodiscard]] std::optional<QuantizedStep> quantized(std::int32_t reg) const {
    const DType to = program_.register_dtype(reg);
    if (!is_short_integer(to)) return std::nullopt;
    QuantizedStep step{.quantizes = true, .integer = to};
    std::int32_t whole = cast_from(reg, to);
    if (whole < 0) return std::nullopt;
    if (const ScalarInstr* const sum = is(whole, ScalarOp::add, DType::f32); sum != nullptr) {
      step.zero = cast_from(sum->args[1], DType::f32);
      if (step.zero < 0 || program_.register_dtype(step.zero) != to) return std::nullopt;
      whole = sum->args[0];
    }
    const ScalarInstr* const round = is(whole, ScalarOp::round_even, DType::f32);
    if (round == nullptr) return std::nullopt;
    step.x = round->args[0];
    if (const ScalarInstr* const ratio = is(step.x, ScalarOp::div, DType::f32); ratio != nullptr) {
      step.x = ratio->args[0];
      step.scale = ratio->args[1];
    }
    return step;
  }

  /// The byte and the zero point whose difference, in i32 or f32, the register is.
  [[nodiscard]] std::optional<QuantizedStep> centred(std::int32_t reg, DType difference) const {
    QuantizedStep step;
    if (const ScalarInstr* const less = is(reg, ScalarOp::sub, difference); less != nullptr) {
      step.zero = cast_from(less->args[1], difference);
      if (step.zero < 0) return std::nullopt;
      reg = less->args[0];
    }
    step.x = cast_from(reg, difference);
    if (step.x < 0) return std::nullopt;
    step.integer = program_.register_dtype(step.x);
    const bool same = step.zero < 0 || program_.register_dtype(step.zero) == step.integer;
    return is_short_integer(step.integer) && same ? std::optional(step) : std::nullopt;
  }

  [[nodiscard]] std::optional<QuantizedStep> dequantized(std::int32_t reg) const {
    if (is(reg, ScalarOp::sub, DType::f32) != nullptr) return centred(reg, DType::f32);
    const ScalarInstr* const product = is(reg, ScalarOp::mul, DType::f32);
    if (product == nullptr) return std::nullopt;
    const std::int32_t integers = cast_from(product->args[0], DType::f32);
    std::optional<QuantizedStep> step = centred(product->args[0], DType::f32);
    if (!step && integers >= 0) step = centred(integers, DType::i32);
    if (step) step->scale = product->args[1];
    return step;
  }

  static bool has_parameters(const QuantizedStep& step,
                             const std::function<bool(std::int32_t)>& holds) {
    const auto fits = [&](std::int32_t reg) { return reg < 0 || holds(reg); };
    return fits(step.scale) && fits(step.zero);
  }

  /// The sum or product that a step quantizes, if both operands are bytes that are dequantized for
  /// it. One of them may be the same for all elements.
  [[nodiscard]] std::optional<QuantizedPair> quantized_pair(const QuantizedStep& step) const {
    if (!step.quantizes || dtype_bytes(step.integer) != 1) return std::nullopt;
    const ScalarInstr* const product = is(step.x, ScalarOp::mul, DType::f32);
    const ScalarInstr* const pair =
        product != nullptr ? product : is(step.x, ScalarOp::add, DType::f32);
    if (pair == nullptr) return std::nullopt;
    std::optional<QuantizedStep> a = dequantized(pair->args[0]), b = dequantized(pair->args[1]);
    // A column of numbers is faster when it is added before quantizing.
    const auto number = [&](std::int32_t reg) -> std::optional<QuantizedStep> {
      if (!known_.is_single(reg)) return std::nullopt;
      return QuantizedStep{.x = reg, .integer = DType::f32};
    };
    if (a && !b) b = number(pair->args[1]);
    if (b && !a) a = std::exchange(b, number(pair->args[0]));
    if (!a || !b || (known_.is_single(a->x) && known_.is_single(b->x))) return std::nullopt;
    for (const QuantizedStep& each : {*a, *b, step}) {
      const bool is_operand = each.quantizes || !known_.is_constant(each.x);
      const bool fits = each.integer == step.integer || each.integer == DType::f32;
      if (!fits || !is_operand || !has_parameters(each, known_.is_constant)) return std::nullopt;
    }
    return QuantizedPair{*a, *b, step, product != nullptr};
  }

  const ScalarProgram& program_;
  const KnownRegisters& known_;
};

}  // namespace

QuantizedSteps find_quantized_steps(const ScalarProgram& program, const KnownRegisters& known) {
  return StepFinder(program, known).find();
}

}  // namespace scanloom::kernels
