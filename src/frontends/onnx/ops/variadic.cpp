// Max, Mean, Min, Sum: chains of the binary operator, starting with the first operand.
#include "frontends/onnx/old_broadcast.h"
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

Expected<void> convert_variadic(NodeCtx& ctx) {
  const std::string_view kind = ctx.op_type();
  const ir::OpDef& op = kind == "Max" ? ops::max_op : kind == "Min" ? ops::min_op : ops::add_op;
  SCANLOOM_TRY(ir::ValueId result, ctx.in(0));
  if (ctx.input_count() == 1) {
    ctx.alias_output(0);
    return {};
  }
  for (int i = 1; i < ctx.input_count(); ++i) {
    SCANLOOM_TRY(const ir::ValueId operand, ctx.in(i));
    if (ctx.version() < 8)
      SCANLOOM_CHECK_OK(check_same_sizes(ctx, result, operand, ctx.describe_input(i)));
    SCANLOOM_TRY(result, ctx.op(op, {result, operand}));
  }
  if (kind == "Mean") {
    SCANLOOM_TRY(const ir::ValueId count, ctx.scalar(ctx.input_count(), ctx.type(result).dtype));
    SCANLOOM_TRY(result, ctx.op(ops::div_op, {result, count}));
  }
  ctx.set_output(0, result);
  return {};
}

}  // namespace scanloom::onnx
