// What quantize_linear and dequantize_linear share: one scale and zero point for all elements, or
// one per index of an axis. Everything is computed in f32.
#pragma once

#include "ir/op_def.h"
#include "tensor/shape.h"
#include "tensor/visit.h"

namespace scanloom::ops {

inline constexpr int kScale = 1;
inline constexpr int kZero = 2;

/// Inputs x, scale, zero and the attribute axis go together. Errors: invalid_model; unsupported
/// (scales by blocks, or of a type that is not f32, f16 or bf16).
Expected<void> check_quantization(ir::InferCtx& ctx);

/// The strides of a scale or zero point by the axes of x: 0 but along `axis`.
tensor::Shape parameter_strides(const tensor::Call& call, const tensor::Operand& parameter);

/// An element of any real or integer dtype as float.
float real_at(const tensor::Operand& operand, std::int64_t at);

}  // namespace scanloom::ops
