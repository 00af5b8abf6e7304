#include "ops/quantize/quantization.h"

#include "ops/indices.h"
#include "ops/lift_rules.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"

namespace scanloom::ops {
namespace {

using tensor::Dim;
using tensor::Operand;
using tensor::Type;

constexpr int kAxis = 0;

// A vector of one element counts as a scalar, as in ONNX Runtime.
Expected<void> check_parameter(ir::InferCtx& ctx, int i) {
  const Type &x = ctx.in(0), &parameter = ctx.in(i);
  if (!parameter.ranked || parameter.rank() == 0) return {};
  if (parameter.rank() > 1)
    return fail(Code::unsupported, "input {} has {} axes: quantization by blocks is not supported",
                i, parameter.rank());
  const Dim count = parameter.dims[0];
  if (!x.ranked || count == Dim(1)) return {};
  SCANLOOM_TRY(const int axis, ctx.axis(ctx.attr(kAxis).integer(), x.rank()));
  SCANLOOM_CHECK_OK(same_size(ctx, x.dims[static_cast<std::size_t>(axis)], count,
                              fmt::format("axis {} of x and input {}", axis, i)));
  return {};
}

}  // namespace

Expected<void> check_quantization(ir::InferCtx& ctx) {
  const DType scale = ctx.dtype(kScale);
  if (scale != DType::f32 && scale != DType::f16 && scale != DType::bf16)
    return fail(Code::unsupported, "scales of type {} are not supported", dtype_name(scale));
  SCANLOOM_CHECK_OK(check_parameter(ctx, kScale));
  if (!ctx.has(kZero)) return {};
  const DType zero = ctx.dtype(kZero);
  if (!is_integer(zero) && !(is_floating_point(zero) && dtype_bytes(zero) == 1))
    return invalid_model("the zero point has elements of type {}", dtype_name(zero));
  return check_parameter(ctx, kZero);
}

tensor::Shape parameter_strides(const tensor::Call& call, const Operand& parameter) {
  const int rank = call.in(0).rank;
  tensor::Shape strides = tensor::Shape::filled(rank, 0);
  if (parameter.rank == 1 && parameter.dims[0] != 1)
    strides[checked_axis(call.attrs[kAxis], rank)] = parameter.strides[0];
  return strides;
}

float real_at(const Operand& operand, std::int64_t at) {
  return tensor::visit_dtype(operand.dtype, [&]<class T>(std::type_identity<T>) -> float {
    if constexpr (tensor::RealOrInteger<T>)
      return static_cast<float>(tensor::widen(operand.data<const T>()[at]));
    else
      return 0;
  });
}

ir::Reg quantized_element(ir::ScalarCtx& ctx, ir::Reg x, ir::Reg scale, ir::Reg zero, DType to) {
  const DType sum = dtype_bytes(to) <= 2 ? DType::f32 : DType::f64;
  const ir::Reg divided =
      ctx.binary(ir::ScalarOp::div, ctx.as(x, DType::f32), ctx.as(scale, DType::f32));
  ir::Reg whole = ctx.unary(ir::ScalarOp::round_even, ctx.as(divided, sum));
  if (zero >= 0) whole = ctx.binary(ir::ScalarOp::add, whole, ctx.as(zero, sum));
  return ctx.as(whole, to);
}

ir::Reg dequantized_element(ir::ScalarCtx& ctx, ir::Reg x, ir::Reg scale, ir::Reg zero, DType to) {
  const DType from = ctx.dtype(x);
  const DType difference = is_floating_point(from)  ? DType::f32
                           : dtype_bytes(from) <= 2 ? DType::i32
                                                    : DType::i64;
  ir::Reg centred = ctx.as(x, difference);
  if (zero >= 0) centred = ctx.binary(ir::ScalarOp::sub, centred, ctx.as(zero, difference));
  const ir::Reg factor = ctx.as(scale, DType::f32);
  return ctx.as(ctx.binary(ir::ScalarOp::mul, ctx.as(centred, DType::f32), factor), to);
}

/// There is one scale for all elements, or the scales are along another axis.
Expected<int> steps_of_quantized(const ir::StepSite& s) {
  for (const std::size_t i : {1, 2}) {  // the scale, and the zero point
    if (!s.has(i)) continue;
    if (s.type(i).rank() > 1) return across("it has scales for blocks of elements");
    if (s.type(i).rank() == 1 && s.type(i).dims[0] != ir::Dim(1)) return steps_along_axis(s);
  }
  return s.axis(0);
}

// There must be a scale for each index, which is known only if the sizes are numbers.
bool can_lift_quantization(ir::Module& module, const ir::Node& node,
                           const std::vector<bool>& varies) {
  if (!can_lift_along_axis(module, node, varies)) return false;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i].valid() && !type_of(module, node, i).is_static()) return false;
  const auto axis = static_cast<std::size_t>(*attribute_axis(module, node));
  return type_of(module, node).dims[axis].is_constant();
}

}  // namespace scanloom::ops
