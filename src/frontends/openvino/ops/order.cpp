// TopK.
#include "frontends/openvino/ops/boxes.h"
#include "frontends/openvino/ops/converters.h"

namespace scanloom::openvino {

using ir::ValueId;

// Among equal elements the first index wins, a stronger guarantee than attribute `stable` requires.
Expected<void> convert_topk(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.in(0);
  const ValueId k = c.reshape(c.sizes_in(1), c.list({1}));
  const std::int64_t axis = c.axis("axis", -1, c.rank(0, x, 1));
  const std::string mode = c.choice("mode", "max", {"max", "min"});
  const std::string sort = c.choice("sort", "value", {"value", "index", "none"});
  const DType dtype = c.take(ctx.attributes.dtype("index_element_type", DType::i32));
  Best best = best_of(c, x, k, axis, mode == "max");
  if (sort == "index") {
    const ValueId all = c.reshape(c.dim(best.indices, axis), c.list({1}));
    const Best order = best_of(c, best.indices, all, axis, false);
    best.values = c.op(ops::gather_elements_op, {best.values, order.indices}, {{"axis", axis}});
    best.indices = order.values;
  }
  const ValueId indices = c.cast(best.indices, dtype);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, best.values);
  ctx.set_output(1, indices);
  return {};
}

}  // namespace scanloom::openvino
