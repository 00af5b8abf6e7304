// Shared by quantize_linear and dequantize_linear: one scale and zero point for all elements, or
// one per index of an axis. Everything is computed in f32.
#pragma once

#include "ir/op_def.h"
#include "ir/scalar_ctx.h"
#include "tensor/for_each.h"
#include "tensor/shape.h"
#include "tensor/visit.h"

namespace scanloom::ops {

inline constexpr int kScale = 1;
inline constexpr int kZero = 2;
inline constexpr decltype(ir::OpDef::inputs) kQuantizationInputs = {
    {"x", ir::Accept::numeric},
    {"scale", ir::Accept::real},
    {"zero", ir::Accept::numeric, ir::Arity::optional}};

/// Checks that inputs x, scale, zero and the attribute axis match. Errors: invalid_model;
/// unsupported (blockwise scales, or scales other than f32, f16 or bf16).
Expected<void> check_quantization(ir::InferCtx& ctx);

/// Returns the strides of a scale or zero point by the axes of x: 0 except along `axis`.
tensor::Shape parameter_strides(const tensor::Call& call, const tensor::Operand& parameter);

/// Returns an element of any floating-point or integer dtype as float.
float real_at(const tensor::Operand& operand, std::int64_t at);

/// Calls f(offset in x, offset in the result, scale, zero point) for every element. Z is the dtype
/// of the zero point, which is 0 if absent.
template <class Z, class F>
void for_each_quantized(const tensor::Call& call, F&& f) {
  const tensor::Operand &x = call.in(0), &scale = call.in(kScale), &y = call.out(0);
  const bool has_zero = call.has(kZero);
  const tensor::Shape scales = parameter_strides(call, scale);
  const tensor::Shape zeros = has_zero ? parameter_strides(call, call.in(kZero)) : scales;
  tensor::for_each_element<4>(
      {y.dims, static_cast<std::size_t>(y.rank)},
      {x.strides, y.strides, scales.data(), zeros.data()}, [&](const auto& at) {
        const Z zero = has_zero ? call.in(kZero).data<const Z>()[at[3]] : Z{};
        f(at[0], at[1], real_at(scale, at[2]), zero);
      });
}

/// Appends the program of one element of quantize_linear or dequantize_linear, of which the
/// operands are registers (zero: -1 if it is absent); returns the result. The bits are those of the
/// operators: differences of integers are exact, and a sum with a zero point of at most 16 bits is
/// exact in f32 unless it is out of range and clamped anyway.
ir::Reg quantized_element(ir::ScalarCtx& ctx, ir::Reg x, ir::Reg scale, ir::Reg zero, DType to);
ir::Reg dequantized_element(ir::ScalarCtx& ctx, ir::Reg x, ir::Reg scale, ir::Reg zero, DType to);

/// Their rules about steps; lift_along_axis lifts them.
Expected<int> steps_of_quantized(const ir::StepSite& s);
bool can_lift_quantization(ir::Module& module, const ir::Node& node,
                           const std::vector<bool>& varies);

}  // namespace scanloom::ops
