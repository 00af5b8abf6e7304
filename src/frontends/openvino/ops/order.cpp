// TopK and NonMaxSuppression.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

struct Best {
  ValueId values, indices;
};

Expected<Best> best_of(LayerComposer& c, ValueId x, ValueId count, std::int64_t axis,
                       bool largest) {
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_TRY(const ir::NodeId node,
               c.builder().node(ops::topk_op, {x, count},
                                {{"axis", axis}, {"largest", largest}, {"sorted", 1}}, 2));
  const std::vector<ValueId>& made = c.builder().module().node(node).outputs;
  return Best{made[0], made[1]};
}

}  // namespace

// Among equal elements the first index wins, a stronger guarantee than attribute `stable` requires.
Expected<void> convert_topk(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.in(0);
  const ValueId k = c.reshape(c.sizes_in(1), c.list({1}));
  const std::int64_t axis = c.axis("axis", -1, c.rank(0, x, 1));
  const std::string mode = c.choice("mode", "max", {"max", "min"});
  const std::string sort = c.choice("sort", "value", {"value", "index", "none"});
  const DType dtype = c.take(ctx.attributes.dtype("index_element_type", DType::i32));
  SCANLOOM_TRY(Best best, best_of(c, x, k, axis, mode == "max"));
  if (sort == "index") {
    const ValueId all = c.reshape(c.dim(best.indices, axis), c.list({1}));
    SCANLOOM_TRY(const Best order, best_of(c, best.indices, all, axis, false));
    best.values = c.op(ops::gather_elements_op, {best.values, order.indices}, {{"axis", axis}});
    best.indices = order.values;
  }
  const ValueId indices = c.cast(best.indices, dtype);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, best.values);
  ctx.set_output(1, indices);
  return {};
}

namespace {

/// Returns input i as the scalar that the operator takes; invalid if it is absent.
ValueId scalar_in(LayerComposer& c, int i, DType dtype) {
  if (!c.ctx().has(i)) return {};
  return c.reshape(c.cast(c.in(i), dtype), c.list({}));
}

/// Error: soft suppression is requested. It lowers scores, which the operator does not.
Expected<void> check_hard(LayerCtx& ctx) {
  if (!ctx.has(5)) return {};
  const tensor::Tensor* const sigma = ctx.constant(5);
  const bool is_zero = sigma != nullptr && sigma->elements() == 1 && sigma->dtype() == DType::f32 &&
                       sigma->as<float>()[0] == 0;
  if (is_zero) return {};
  return fail(Code::unsupported, "input 5, the sigma of soft suppression, is not the constant 0");
}

}  // namespace

// Rows of image, class and box. Since version 5 also rows with the score instead of the box, and
// the number of rows. In all versions there are as many rows as boxes kept.
Expected<void> convert_non_max_suppression(LayerCtx& ctx) {
  LayerComposer c(ctx);
  SCANLOOM_CHECK_OK(check_hard(ctx));
  const ValueId boxes = c.in(0), scores = c.in(1);
  const bool centred = c.choice("box_encoding", "corner", {"corner", "center"}) == "center";
  const bool descending = c.flag("sort_result_descending", true);
  const DType dtype = c.take(ctx.attributes.dtype("output_type", DType::i64));
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(ops::non_max_suppression_op,
                                  {boxes, scores, scalar_in(c, 2, DType::i64),
                                   scalar_in(c, 3, DType::f32), scalar_in(c, 4, DType::f32)},
                                  {{"center_point_box", centred}}, 2));
  ValueId rows = ctx.module().node(node).outputs[0];
  const auto scores_of = [&](ValueId kept) {
    return c.op(ops::gather_nd_op, {scores, kept}, {{"batch_dims", 0}});
  };
  if (descending) {
    const ValueId all = c.reshape(c.dim(rows, 0), c.list({1}));
    SCANLOOM_TRY(const Best order, best_of(c, scores_of(rows), all, 0, true));
    rows = c.gather(rows, order.indices, 0);
  }
  const ValueId kept = c.cast(rows, dtype);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, kept);
  if (ctx.version() < 5) return {};
  const ValueId score = c.unsqueeze(scores_of(rows), {1});
  const ValueId positions = c.cast(c.slice(rows, 1, 0, 2), c.dtype(score));
  ctx.set_output(1, c.concat({positions, score}, 1));
  ctx.set_output(2, c.cast(c.reshape(c.dim(rows, 0), c.list({1})), dtype));
  return c.done();
}

}  // namespace scanloom::openvino
