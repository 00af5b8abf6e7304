// Softmax and LogSoftmax: along one axis since version 13. Before that, all axes from `axis` on are
// treated as one.
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

Expected<void> convert_softmax(NodeCtx& ctx) {
  const ir::OpDef& op = ctx.op_type() == "Softmax" ? ops::softmax_op : ops::log_softmax_op;
  const bool one_axis = ctx.version() >= 13;
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", one_axis ? -1 : 1));
  const tensor::Type& type = ctx.type(x);
  const bool is_last = axis == -1 || (type.ranked && axis == type.rank() - 1);
  if (one_axis || is_last) return ctx.emit(op, {x}, {{"axis", axis}});
  SCANLOOM_TRY(const ValueId shape, ctx.op(ops::shape_op, {x}, {{"start", 0}}));
  SCANLOOM_TRY(const ValueId flat, ctx.op(ops::flatten_op, {x}, {{"axis", axis}}));
  SCANLOOM_TRY(const ValueId result, ctx.op(op, {flat}, {{"axis", 1}}));
  return ctx.emit(ops::reshape_op, {result, shape}, {{"allowzero", 1}});
}

}  // namespace scanloom::onnx
