#include "ops/pointwise_dims.h"

#include <algorithm>
#include <limits>

#include "ops/sizes.h"

namespace scanloom::ops {
namespace {

using tensor::Dim;
using tensor::DimTable;
using tensor::ScalarInstr;
using tensor::ScalarOp;

// Division truncates, while dims round down. These agree for dividends that are not negative, and
// for exact quotients.
std::optional<Dim> divide(ir::InferCtx& ctx, Dim a, Dim b) {
  if (!b.is_constant() || b.value() <= 0) return std::nullopt;
  if (a.is_constant()) return Dim(a.value() / b.value());
  const Dim quotient = ctx.dims().floor_div(a, b);
  if (!is_never_negative(ctx, a) && ctx.dims().mul(quotient, b) != a) return std::nullopt;
  return quotient;
}

std::optional<Dim> remainder(ir::InferCtx& ctx, bool has_sign_of_a, Dim a, Dim b) {
  if (!b.is_constant() || b.value() <= 0) return std::nullopt;
  if (has_sign_of_a && !is_never_negative(ctx, a)) return std::nullopt;
  DimTable& dims = ctx.dims();
  return dims.sub(a, dims.mul(dims.floor_div(a, b), b));
}

std::optional<Dim> cast_size(Dim a, DType to) {
  if (to == DType::i64) return a;
  const bool fits = a.is_constant() && a.value() >= std::numeric_limits<std::int32_t>::min() &&
                    a.value() <= std::numeric_limits<std::int32_t>::max();
  return to == DType::i32 && fits ? std::optional(a) : std::nullopt;
}

std::optional<Dim> apply(ir::InferCtx& ctx, const ScalarInstr& instr, Dim a, Dim b) {
  const ScalarOp op = instr.op;
  DimTable& dims = ctx.dims();
  if (op == ScalarOp::cast) return cast_size(a, instr.dtype);
  if (instr.dtype != DType::i64) return std::nullopt;
  if (op == ScalarOp::constant) return Dim(static_cast<std::int64_t>(instr.bits));
  if (op == ScalarOp::add) return dims.add(a, b);
  if (op == ScalarOp::sub) return dims.sub(a, b);
  if (op == ScalarOp::mul) return dims.mul(a, b);
  if (op == ScalarOp::div) return divide(ctx, a, b);
  if (op == ScalarOp::mod_floor) return remainder(ctx, false, a, b);
  if (op == ScalarOp::mod_trunc) return remainder(ctx, true, a, b);
  if (op == ScalarOp::min) return dims.min(a, b);
  if (op == ScalarOp::max) return dims.max(a, b);
  return std::nullopt;
}

/// Evaluates one element; registers begin with the inputs'. Returns false without an expression.
bool evaluate(ir::InferCtx& ctx, const tensor::ScalarProgram& program,
              std::vector<Dim>& registers) {
  for (const ScalarInstr& instr : program.instrs) {
    const auto argument = [&](int i) {
      return instr.args[i] < 0 ? Dim() : registers[static_cast<std::size_t>(instr.args[i])];
    };
    const std::optional<Dim> value = apply(ctx, instr, argument(0), argument(1));
    if (!value) return false;
    registers.push_back(*value);
  }
  return true;
}

}  // namespace

std::optional<std::vector<Dim>> evaluate_dims(ir::InferCtx& ctx,
                                              const tensor::ScalarProgram& program,
                                              std::span<const std::vector<Dim>> inputs,
                                              std::size_t count) {
  const auto fits = [count](const auto& input) {
    return input.size() == 1 || input.size() == count;
  };
  if (!std::ranges::all_of(program.inputs, holds_sizes) || !std::ranges::all_of(inputs, fits))
    return std::nullopt;
  std::vector<Dim> result;
  for (std::size_t element = 0; element < count; ++element) {
    std::vector<Dim> registers;
    for (const std::vector<Dim>& input : inputs)
      registers.push_back(input[input.size() == 1 ? 0 : element]);
    if (!evaluate(ctx, program, registers)) return std::nullopt;
    result.push_back(registers[static_cast<std::size_t>(program.results[0])]);
  }
  return result;
}

}  // namespace scanloom::ops
