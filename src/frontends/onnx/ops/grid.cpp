// AffineGrid, GridSample.
#include "frontends/onnx/ops/converters.h"
#include "ops/composer.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

Expected<void> convert_affine_grid(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId theta, ctx.in(0));
  SCANLOOM_TRY(const ValueId size, ctx.in(1));
  SCANLOOM_TRY(const std::int64_t align, ctx.integer("align_corners", 0));
  return ctx.emit(ops::affine_grid_op, {theta, size}, {{"align_corners", align != 0}});
}

namespace {

/// Version 16 uses the names bilinear and bicubic.
std::string mode_name(const std::string& mode) {
  if (mode == "bilinear") return "linear";
  return mode == "bicubic" ? "cubic" : mode;
}

}  // namespace

// Integers are interpolated in floating point and rounded to nearest even.
Expected<void> convert_grid_sample(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(ValueId grid, ctx.in(1));
  SCANLOOM_TRY(const std::string given, ctx.text("mode", "linear"));
  SCANLOOM_TRY(const std::string padding, ctx.text("padding_mode", "zeros"));
  SCANLOOM_TRY(const std::int64_t align, ctx.integer("align_corners", 0));
  const std::string mode = mode_name(given);
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    return invalid_model("attribute 'mode' is '{}', neither linear, nearest nor cubic", given);
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return invalid_model("attribute 'padding_mode' is '{}', neither zeros, border nor reflection",
                         padding);
  const DType dtype = ctx.type(x).dtype;
  const bool moves = mode == "nearest";
  if (!moves && !is_floating_point(dtype) && !is_integer(dtype))
    return invalid_model("{} has elements of type {}, which cannot be interpolated",
                         ctx.describe_input(0), dtype_onnx_name(dtype));
  SCANLOOM_TRY(grid, ctx.cast(grid, ops::real_that_holds(ctx.type(grid).dtype)));
  ValueId y = x;
  if (!moves) {
    SCANLOOM_TRY(y, ctx.cast(x, ops::real_that_holds(dtype)));
  }
  SCANLOOM_TRY(y, ctx.op(ops::grid_sample_op, {y, grid},
                         {{"mode", mode}, {"padding", padding}, {"align_corners", align != 0}}));
  if (is_integer(dtype) && !moves) {
    SCANLOOM_TRY(y, ctx.op(ops::round_op, {y}));
  }
  SCANLOOM_TRY(y, ctx.cast(y, dtype));
  ctx.set_output(0, y);
  return {};
}

}  // namespace scanloom::onnx
