// GridSample, ROIAlign and ROIPooling; computed in f32 at least.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"

namespace scanloom::openvino {

using ir::ValueId;

Expected<void> convert_grid_sample(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.in(0), grid = c.wide_in(1);
  const std::string mode = c.choice("mode", "bilinear", {"bilinear", "bicubic", "nearest"});
  const std::string padding = c.choice("padding_mode", "zeros", {"zeros", "border", "reflection"});
  const DType dtype = c.dtype(x);
  const bool moves = mode == "nearest";
  if (c.ok() && !moves && !is_real(dtype))
    return invalid_model("input 0 is {}, which cannot be interpolated", dtype_name(dtype));
  const ValueId y = c.op(ops::grid_sample_op, {moves ? x : c.wide_in(0), grid},
                         {{"mode", moves                ? mode
                                   : mode == "bilinear" ? "linear"
                                                        : "cubic"},
                          {"padding", padding},
                          {"align_corners", c.flag("align_corners", false)}});
  return c.emit(c.cast(y, dtype));
}

// With aligned_mode half_pixel corners lie in the middle of elements before they are scaled, too.
Expected<void> convert_roi_align(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.wide_in(0), images = c.in(2);
  ValueId rois = c.cast(c.in(1), c.dtype(x));
  SCANLOOM_TRY(const std::int64_t height, ctx.attributes.integer("pooled_h"));
  SCANLOOM_TRY(const std::int64_t width, ctx.attributes.integer("pooled_w"));
  SCANLOOM_TRY(const double scale, ctx.attributes.real("spatial_scale"));
  const std::string mode = c.choice("mode", "avg", {"avg", "max"});
  const std::string aligned =
      c.choice("aligned_mode", "asymmetric", {"asymmetric", "half_pixel_for_nn", "half_pixel"});
  if (aligned == "half_pixel") rois = c.add(rois, c.like(0.5, rois));
  const ValueId y = c.op(ops::roi_align_op, {x, rois, c.cast(images, DType::i64)},
                         {{"height", height},
                          {"width", width},
                          {"mode", mode == "avg" ? mode : "max_sample"},
                          {"sampling_ratio", c.integer("sampling_ratio", 0)},
                          {"spatial_scale", scale},
                          {"half_pixel", aligned != "asymmetric"}});
  return c.emit(c.cast(y, c.dtype(c.in(0))));
}

Expected<void> convert_roi_pooling(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.wide_in(0), rois = c.cast(c.in(1), c.dtype(x));
  const std::string method = c.choice("method", "max", {"max", "bilinear"});
  SCANLOOM_CHECK_OK(c.done());
  if (method != "max") return fail(Code::unsupported, "attribute 'method' of '{}'", method);
  SCANLOOM_TRY(auto size, ctx.attributes.integers("output_size"));
  for (const char* const name : {"pooled_h", "pooled_w"}) {
    if (!ctx.attributes.has(name)) continue;
    SCANLOOM_TRY(const std::int64_t one, ctx.attributes.integer(name));
    size.push_back(one);
  }
  if (size.size() != 2) return invalid_model("it names {} sizes of the result, not 2", size.size());
  SCANLOOM_TRY(const double scale, ctx.attributes.real("spatial_scale"));
  const ValueId y = c.op(ops::max_roi_pool_op, {x, rois},
                         {{"height", size[0]}, {"width", size[1]}, {"spatial_scale", scale}});
  return c.emit(c.cast(y, c.dtype(c.in(0))));
}

}  // namespace scanloom::openvino
