// Dropout and Identity.
#include <algorithm>

#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Whether the ratio is known to be 0, whether it is an attribute or an operand.
Expected<bool> drops_nothing(NodeCtx& ctx) {
  SCANLOOM_TRY(const double attribute, ctx.real("ratio", 0.5));
  if (ctx.version() < 12) return attribute == 0;
  if (!ctx.has(1)) return false;
  const tensor::Tensor* const ratio = ctx.constant(1);
  if (ratio == nullptr || ratio->elements() != 1) return false;
  const std::span bytes(static_cast<const std::byte*>(ratio->data()), ratio->bytes());
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

/// Errors if elements would be dropped. Up to version 6 a missing attribute is_test means that
/// nothing is dropped, because exporters for inference left it out.
Expected<void> check_drops_nothing(NodeCtx& ctx) {
  ctx.ignore("seed");
  SCANLOOM_TRY(const bool nothing, drops_nothing(ctx));
  SCANLOOM_TRY(const std::int64_t is_test, ctx.version() < 7 ? ctx.integer("is_test", 1) : 1);
  if (nothing) return {};
  if (is_test == 0) return fail(Code::unsupported, "training: attribute 'is_test' is 0");
  if (!ctx.has(2)) return {};
  const tensor::Tensor* const training = ctx.constant(2);
  const auto value = training == nullptr ? std::nullopt : tensor::to_integers(*training);
  if (!value || value->size() != 1 || value->front() != 0)
    return fail(Code::unsupported, "{} must be the constant false", ctx.describe_input(2));
  return {};
}

}  // namespace

// Nothing is dropped, as in inference. The mask has the type of x up to version 7.
Expected<void> convert_dropout(NodeCtx& ctx) {
  SCANLOOM_CHECK_OK(check_drops_nothing(ctx));
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  ctx.alias_output(0);
  if (!ctx.wants(1)) return {};
  tensor::Tensor kept = tensor::Tensor::scalar<bool>(true);
  SCANLOOM_TRY(const ValueId shape, ctx.op(ops::shape_op, {x}, {{"start", 0}}));
  SCANLOOM_TRY(const ValueId mask,
               ctx.op(ops::constant_of_shape_op, {shape}, {{"value", std::move(kept)}}));
  SCANLOOM_TRY(const ValueId typed,
               ctx.cast(mask, ctx.version() < 10 ? ctx.type(x).dtype : DType::boolean));
  ctx.set_output(1, typed);
  return {};
}

// A constant stays one for consumers that need a constant.
Expected<void> convert_identity(NodeCtx& ctx) {
  if (ctx.constant(0) != nullptr) {
    ctx.alias_output(0);
    return {};
  }
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  if (!ctx.type(x).is_tensor()) {
    ctx.alias_output(0);
    return {};
  }
  return ctx.emit(ops::identity_op, {x});
}

}  // namespace scanloom::onnx
