// Shape operators: Expand, Flatten, Reshape, Shape, Size, Squeeze, Tile, Transpose, Unsqueeze.
#include <numeric>

#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

Expected<void> convert_expand(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId shape, ctx.in(1));
  return ctx.emit(ops::expand_op, {x, shape});
}

Expected<void> convert_flatten(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", 1));
  return ctx.emit(ops::flatten_op, {x}, {{"axis", axis}});
}

Expected<void> convert_reshape(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  ValueId shape;
  if (ctx.version() < 5) {
    SCANLOOM_TRY(const auto sizes, ctx.integers("shape"));
    shape = ctx.integers_value(sizes);
  } else {
    SCANLOOM_TRY(shape, ctx.in(1));
  }
  SCANLOOM_TRY(const std::int64_t allow_zero, ctx.integer("allowzero", 0));
  return ctx.emit(ops::reshape_op, {x, shape}, {{"allowzero", allow_zero != 0}});
}

Expected<void> convert_shape(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t start, ctx.integer("start", 0));
  std::vector<ir::NamedAttr> attrs = {{"start", start}};
  if (ctx.has_attribute("end")) {
    SCANLOOM_TRY(const std::int64_t end, ctx.integer("end", 0));
    attrs.push_back({"end", end});
  }
  return ctx.emit(ops::shape_op, {x}, std::move(attrs));
}

Expected<void> convert_size(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  return ctx.emit(ops::size_op, {x});
}

namespace {

/// Version 1 repeats along one axis; both operands have the type of x.
Expected<void> convert_tile_1(NodeCtx& ctx, ValueId x) {
  SCANLOOM_TRY(ValueId tiles, ctx.in(1));
  SCANLOOM_TRY(ValueId axis, ctx.in(2));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x));
  SCANLOOM_TRY(tiles, ctx.cast(tiles, DType::i64));
  SCANLOOM_TRY(axis, ctx.cast(axis, DType::i64));
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  SCANLOOM_TRY(const ValueId named, ctx.op(ops::equal_op, {ctx.integers_value(axes), axis}));
  SCANLOOM_TRY(const ValueId repeats, ctx.op(ops::where_op, {named, tiles, ctx.integer_value(1)}));
  return ctx.emit(ops::tile_op, {x, repeats});
}

}  // namespace

Expected<void> convert_tile(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  if (ctx.version() < 6) return convert_tile_1(ctx, x);
  if (ctx.has(2)) return invalid_model("it has 3 inputs, but at most 2 are allowed");
  SCANLOOM_TRY(const ValueId repeats, ctx.in(1));
  return ctx.emit(ops::tile_op, {x, repeats});
}

Expected<void> convert_transpose(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  if (!ctx.has_attribute("perm")) return ctx.emit(ops::transpose_op, {x});
  SCANLOOM_TRY(auto perm, ctx.integers("perm"));
  return ctx.emit(ops::transpose_op, {x}, {{"perm", std::move(perm)}});
}

namespace {

/// The axes of Squeeze and Unsqueeze are an attribute up to version 11 and an operand since 13. A
/// constant operand becomes the attribute of the IR's operators.
Expected<void> emit_with_axes(NodeCtx& ctx, const ir::OpDef& op, ValueId x) {
  if (ctx.version() < 13) {
    if (!ctx.has_attribute("axes")) return ctx.emit(op, {x});
    SCANLOOM_TRY(auto axes, ctx.integers("axes"));
    return ctx.emit(op, {x}, {{"axes", std::move(axes)}});
  }
  if (!ctx.has(1)) return ctx.emit(op, {x});
  if (ctx.constant(1) == nullptr) {
    SCANLOOM_TRY(const ValueId axes, ctx.in(1));
    return ctx.emit(op, {x, axes});
  }
  SCANLOOM_TRY(auto axes, ctx.constant_integers(1));
  return ctx.emit(op, {x}, {{"axes", *std::move(axes)}});
}

}  // namespace

Expected<void> convert_squeeze(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  return emit_with_axes(ctx, ops::squeeze_op, x);
}

Expected<void> convert_unsqueeze(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  if (ctx.version() < 13 ? !ctx.has_attribute("axes") : !ctx.has(1))
    return invalid_model("its axes are missing");
  return emit_with_axes(ctx, ops::unsqueeze_op, x);
}

}  // namespace scanloom::onnx
