#include "kernels/quantization.h"

namespace scanloom::kernels {
namespace {

using tensor::Operand;

bool is_single(const Operand& parameter) { return parameter.rank == 0 || parameter.dims[0] == 1; }

}  // namespace

std::optional<Refusal> lay_out_quantized(const PrepareCtx& ctx, QuantizedLayout& layout) {
  const Operand &x = ctx.inputs[0], &scale = ctx.inputs[1];
  if (!x.contiguous || !ctx.outputs[0].contiguous) return "operands that are not contiguous";
  if (scale.dtype != DType::f32) return "scales that are not f32";
  const bool has_zero = ctx.inputs.size() > 2 && ctx.inputs[2].present();
  layout.inner = x.elements();
  if (is_single(scale) && (!has_zero || is_single(ctx.inputs[2]))) return std::nullopt;
  const std::int64_t given = ctx.attrs[0].integer();
  const int along = static_cast<int>(given < 0 ? given + x.rank : given);
  layout = {1, x.dims[along], 1, is_single(scale) ? 0 : scale.strides[0], 0};
  if (has_zero && !is_single(ctx.inputs[2])) layout.zero_step = ctx.inputs[2].strides[0];
  for (int axis = 0; axis < along; ++axis) layout.outer *= x.dims[axis];
  for (int axis = along + 1; axis < x.rank; ++axis) layout.inner *= x.dims[axis];
  return std::nullopt;
}

}  // namespace scanloom::kernels
