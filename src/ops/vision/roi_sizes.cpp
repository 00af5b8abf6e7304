#include "ops/vision/roi_sizes.h"

#include "ops/sizes.h"
#include "ops/step_rules.h"

namespace scanloom::ops {

using tensor::Dim;
using tensor::Type;

Expected<void> set_roi_result(ir::InferCtx& ctx, std::int64_t columns, std::int64_t height,
                              std::int64_t width) {
  const Type &x = ctx.in(0), &rois = ctx.in(1);
  for (const std::int64_t size : {height, width})
    if (size < 1 || size > std::int64_t{1} << 31)
      return invalid_model("the result is {} by {}, but at least 1 is needed", height, width);
  if (x.dtype != DType::f32 && x.dtype != DType::f64)
    return fail(Code::unsupported, "x has elements of type {}, not f32 or f64",
                dtype_name(x.dtype));
  if (x.ranked && x.rank() != 4) return invalid_model("x has {} axes, not 4", x.rank());
  if (rois.ranked && rois.rank() != 2) return invalid_model("rois has {} axes, not 2", rois.rank());
  if (rois.ranked && rois.dims[1].is_constant() && rois.dims[1] != Dim(columns))
    return invalid_model("rois has {} numbers per region, not {}", rois.dims[1].value(), columns);
  const Dim regions = rois.ranked ? rois.dims[0] : ctx.dims().fresh();
  const Dim channels = x.ranked ? x.dims[1] : ctx.dims().fresh();
  return set_sizes(ctx, 0, x.dtype, {regions, channels, height, width});
}

// Regions name their images by number.
Expected<int> steps_of_regions(const ir::StepSite& s) {
  if (s.along(0)) return across("its regions read elements of others");
  for (std::size_t i = 1; i < s.node.inputs.size(); ++i)
    if (!s.along(i) || s.axis(i) != 0)
      return across("it takes more or less than one region of each");
  return 0;
}

}  // namespace scanloom::ops
