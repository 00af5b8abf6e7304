// CumSum, Dropout, Identity, Range, Trilu.
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

Expected<void> convert_cumsum(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId axis, ctx.in(1));
  SCANLOOM_TRY(const std::int64_t exclusive, ctx.integer("exclusive", 0));
  SCANLOOM_TRY(const std::int64_t reverse, ctx.integer("reverse", 0));
  return ctx.emit(ops::cumsum_op, {x, axis},
                  {{"exclusive", exclusive != 0}, {"reverse", reverse != 0}});
}

// As when inferring: nothing is dropped.
Expected<void> convert_dropout(NodeCtx& ctx) {
  for (const std::string_view name : {"ratio", "seed"}) ctx.ignore(name);
  if (ctx.has(2)) {
    const tensor::Tensor* const training = ctx.constant(2);
    const auto value = training == nullptr ? std::nullopt : tensor::to_integers(*training);
    if (!value || value->size() != 1 || value->front() != 0)
      return fail(Code::unsupported, "{} must be the constant false", ctx.describe_input(2));
  }
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  ctx.alias_output(0);
  if (!ctx.wants(1)) return {};
  tensor::Tensor kept = tensor::Tensor::scalar<bool>(true);
  SCANLOOM_TRY(const ValueId shape, ctx.op(ops::shape_op, {x}, {{"start", 0}}));
  SCANLOOM_TRY(const ValueId mask,
               ctx.op(ops::constant_of_shape_op, {shape}, {{"value", std::move(kept)}}));
  ctx.set_output(1, mask);
  return {};
}

// A constant stays one, so that what needs a constant sees it.
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

Expected<void> convert_range(NodeCtx& ctx) {
  ctx.ignore("stash_type");
  SCANLOOM_TRY(const ValueId start, ctx.in(0));
  SCANLOOM_TRY(const ValueId limit, ctx.in(1));
  SCANLOOM_TRY(const ValueId delta, ctx.in(2));
  return ctx.emit(ops::range_op, {start, limit, delta});
}

namespace {

/// 0, 1, ... up to the size of the axis.
Expected<ValueId> positions(NodeCtx& ctx, ValueId x, std::int64_t axis) {
  SCANLOOM_TRY(const ValueId size, ctx.op(ops::dim_op, {x}, {{"axis", axis}}));
  return ctx.op(ops::range_op, {ctx.integer_value(0), size, ctx.integer_value(1)});
}

}  // namespace

// The upper part keeps column >= row + k, the lower one column <= row + k.
Expected<void> convert_trilu(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(ValueId k, ctx.optional_in(1));
  SCANLOOM_TRY(const std::int64_t upper, ctx.integer("upper", 1));
  if (!k.valid()) k = ctx.integer_value(0);
  SCANLOOM_TRY(ValueId rows, positions(ctx, x, -2));
  SCANLOOM_TRY(rows, ctx.op(ops::add_op, {rows, k}));
  SCANLOOM_TRY(rows, ctx.op(ops::unsqueeze_op, {rows}, {{"axes", std::vector<std::int64_t>{1}}}));
  SCANLOOM_TRY(const ValueId columns, positions(ctx, x, -1));
  const auto order =
      upper != 0 ? std::vector<ValueId>{rows, columns} : std::vector<ValueId>{columns, rows};
  SCANLOOM_TRY(const ValueId kept, ctx.op(ops::less_equal_op, order));
  SCANLOOM_TRY(const ValueId zero, ctx.scalar(0, ctx.type(x).dtype));
  return ctx.emit(ops::where_op, {kept, x, zero});
}

}  // namespace scanloom::onnx
