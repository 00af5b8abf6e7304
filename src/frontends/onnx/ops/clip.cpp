// Clip. The limits are attributes up to version 6, operands since 11.
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

Expected<ValueId> limit_from_attribute(NodeCtx& ctx, std::string_view name, DType dtype) {
  if (!ctx.has_attribute(name)) return ValueId{};
  SCANLOOM_TRY(const double limit, ctx.real(name, 0));
  return ctx.scalar(limit, dtype);
}

}  // namespace

Expected<void> convert_clip(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  ValueId low, high;
  if (ctx.version() < 11) {
    SCANLOOM_TRY(low, limit_from_attribute(ctx, "min", ctx.type(x).dtype));
    SCANLOOM_TRY(high, limit_from_attribute(ctx, "max", ctx.type(x).dtype));
  } else {
    SCANLOOM_TRY(low, ctx.optional_in(1));
    SCANLOOM_TRY(high, ctx.optional_in(2));
  }
  return ctx.emit(ops::clip_op, {x, low, high});
}

}  // namespace scanloom::onnx
