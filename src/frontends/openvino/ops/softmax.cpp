// Softmax and LogSoftmax, along axis 1 by default.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"

namespace scanloom::openvino {

namespace {

Expected<void> along_axis(LayerCtx& ctx, const ir::OpDef& op) {
  LayerComposer c(ctx);
  return c.emit(c.op(op, {c.in(0)}, {{"axis", c.integer("axis", 1)}}));
}

}  // namespace

Expected<void> convert_softmax(LayerCtx& ctx) { return along_axis(ctx, ops::softmax_op); }

Expected<void> convert_log_softmax(LayerCtx& ctx) { return along_axis(ctx, ops::log_softmax_op); }

}  // namespace scanloom::openvino
