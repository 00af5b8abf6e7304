// Dropout and Identity.
#include <algorithm>

#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/draw.h"
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

/// Whether elements may be dropped. Up to version 6 a missing attribute is_test means that none
/// are, because exporters for inference left it out; versions 7 to 11 are for inference only.
Expected<bool> may_drop(NodeCtx& ctx) {
  ctx.ignore("seed");
  SCANLOOM_TRY(const bool nothing, drops_nothing(ctx));
  SCANLOOM_TRY(const std::int64_t is_test, ctx.version() < 7 ? ctx.integer("is_test", 1) : 1);
  if (nothing) return false;
  if (ctx.version() < 12) return is_test == 0;
  if (!ctx.has(2)) return false;
  const tensor::Tensor* const training = ctx.constant(2);
  const auto value = training == nullptr ? std::nullopt : tensor::to_integers(*training);
  return !value || value->size() != 1 || value->front() != 0;
}

ValueId scalar_in(Composer& c, int i) { return c.reshape(c.in(i), c.list({})); }

/// Drops each element where a uniform number is less than the ratio, and divides the others by 1 -
/// ratio, so that their mean stays.
Expected<void> drop(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0), one = c.like(1, x);
  const ValueId random = draw(c, "uniform", c.shape(x), c.dtype(x));
  ValueId ratio = c.scalar(c.real("ratio", 0.5), c.dtype(random));
  if (ctx.version() >= 12 && ctx.has(1)) ratio = c.cast(scalar_in(c, 1), c.dtype(random));
  ValueId kept = c.less_equal(ratio, random);
  ValueId scale = c.div(one, c.cast(c.sub(c.like(1, ratio), ratio), c.dtype(x)));
  if (ctx.version() >= 12) {
    const ValueId training = scalar_in(c, 2);
    kept = c.op(ops::logical_or_op, {kept, c.op(ops::logical_not_op, {training})});
    scale = c.where(training, scale, one);
  }
  const ValueId y = c.where(kept, c.mul(x, scale), c.like(0, x));
  const ValueId mask = c.cast(kept, ctx.version() < 10 ? c.dtype(x) : DType::boolean);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, y);
  if (ctx.wants(1)) ctx.set_output(1, mask);
  return {};
}

}  // namespace

// In inference nothing is dropped. The mask has the type of x up to version 7.
Expected<void> convert_dropout(NodeCtx& ctx) {
  SCANLOOM_TRY(const bool drops, may_drop(ctx));
  if (drops) return drop(ctx);
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
