// CenterCropPad.
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "tensor/axis_words.h"

namespace scanloom::onnx {

using ir::ValueId;

// A pad with negative amounts where elements are cropped. Division rounds towards 0, so when an odd
// number of elements is cropped or padded, the larger part is at the end.
Expected<void> convert_center_crop_pad(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0), target = c.cast(c.in(1), DType::i64);
  const int rank = c.rank(0, x, 0);
  auto axes = c.take(ctx.integers("axes"));
  if (!ctx.has_attribute("axes")) axes = axes_between(0, rank);
  for (std::int64_t& axis : axes) {
    const auto normal = tensor::normalise_axis(axis, rank);
    if (!normal)
      return invalid_model("attribute 'axes' has {}, {}", axis, tensor::outside_axes(rank));
    axis = *normal;
  }
  if (const std::int64_t count = c.known_size(target, 0);
      c.ok() && count >= 0 && count != static_cast<std::int64_t>(axes.size()))
    return invalid_model("{} has {} entries for {} axes", ctx.describe_input(1), count,
                         axes.size());
  const ValueId which = c.list(axes);
  const ValueId missing = c.sub(target, c.gather(c.shape(x), which, 0));
  const ValueId before = c.div(missing, c.number(2));
  const ValueId pads = c.concat({before, c.sub(missing, before)}, 0);
  return c.emit(c.op(ops::pad_op, {x, pads, {}, which}, {{"mode", "constant"}}));
}

}  // namespace scanloom::onnx
