// Pad. The amounts and the value are attributes up to version 2, operands since 11.
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

Expected<void> convert_pad(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::string mode, ctx.text("mode", "constant"));
  ValueId pads, value, axes;
  if (ctx.version() < 11) {
    SCANLOOM_TRY(const auto amounts, ctx.integers(ctx.version() < 2 ? "paddings" : "pads"));
    SCANLOOM_TRY(const double filling, ctx.real("value", 0));
    pads = ctx.integers_value(amounts);
    SCANLOOM_TRY(value, ctx.scalar(filling, ctx.type(x).dtype));
  } else {
    SCANLOOM_TRY(pads, ctx.in(1));
    SCANLOOM_TRY(value, ctx.optional_in(2));
    SCANLOOM_TRY(axes, ctx.optional_in(3));
  }
  return ctx.emit(ops::pad_op, {x, pads, value, axes}, {{"mode", mode}});
}

}  // namespace scanloom::onnx
