// CumProd and CumSum.
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

Expected<void> convert(NodeCtx& ctx, const ir::OpDef& op) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId axis, ctx.in(1));
  SCANLOOM_TRY(const std::int64_t exclusive, ctx.integer("exclusive", 0));
  SCANLOOM_TRY(const std::int64_t reverse, ctx.integer("reverse", 0));
  return ctx.emit(op, {x, axis}, {{"exclusive", exclusive != 0}, {"reverse", reverse != 0}});
}

}  // namespace

Expected<void> convert_cumprod(NodeCtx& ctx) { return convert(ctx, ops::cumprod_op); }

Expected<void> convert_cumsum(NodeCtx& ctx) { return convert(ctx, ops::cumsum_op); }

}  // namespace scanloom::onnx
