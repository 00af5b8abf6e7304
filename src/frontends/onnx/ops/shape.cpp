// Operators about shapes: Expand, Flatten, Reshape, Shape, Size, Squeeze, Tile, Transpose,
// Unsqueeze.
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
  SCANLOOM_TRY(const ValueId shape, ctx.in(1));
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

Expected<void> convert_tile(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
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

/// The axes of Squeeze and Unsqueeze: an attribute up to version 11, a constant operand from 13 on.
Expected<std::optional<std::vector<std::int64_t>>> given_axes(NodeCtx& ctx) {
  using Axes = std::optional<std::vector<std::int64_t>>;
  if (ctx.version() >= 13) return ctx.constant_integers(1);
  if (!ctx.has_attribute("axes")) return Axes{};
  SCANLOOM_TRY(auto axes, ctx.integers("axes"));
  return Axes{std::move(axes)};
}

}  // namespace

Expected<void> convert_squeeze(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(auto axes, given_axes(ctx));
  return ctx.emit(ops::squeeze_op, {x}, {{"axes", axes ? ir::Attr(*std::move(axes)) : ir::Attr()}});
}

Expected<void> convert_unsqueeze(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(auto axes, given_axes(ctx));
  if (!axes) return invalid_model("its axes are missing");
  return ctx.emit(ops::unsqueeze_op, {x}, {{"axes", *std::move(axes)}});
}

}  // namespace scanloom::onnx
