// FlexAttention (ai.onnx.preview): attention whose scores and probabilities can be modified by
// graphs of the model. The graphs are read into the node's own region, one after another.
#include "frontends/onnx/body.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/heads.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Returns whether the graph is present, and if so requests it to be read with `value` as its only
/// input.
Expected<bool> open_graph(NodeCtx& ctx, std::unique_ptr<OpenNode> open, const char* attribute,
                          ValueId value) {
  if (!ctx.has_attribute(attribute)) return false;
  SCANLOOM_TRY(const Body body, Body::of(ctx, attribute));
  SCANLOOM_CHECK_OK(body.check_counts(ctx, 1, "scores", 1, "scores"));
  BodyRequest request{
      .graph = body.graph(),
      .role = body.role(),
      .builder = std::make_shared<ir::Builder>(ctx.module(), ctx.builder().region()),
      .root = body.root(ctx),
      .bindings = {}};
  for (const NameId name : ctx.site().captures)
    if (const Binding* const outer = ctx.site().scope.find(name))
      if (const auto own = body.own_name(name)) request.bindings.emplace_back(*own, *outer);
  request.bindings.emplace_back(body.input_name(0), Binding::of(value));
  open->bodies.push_back(std::move(request));
  ctx.open(std::move(open));
  return true;
}

/// Returns the value that a graph computed from `before`, which must have the same element type.
Expected<ValueId> changed(NodeCtx& ctx, std::vector<BodyResult>& results, ValueId before) {
  const ValueId after = results[0].value(0);
  const DType from = ctx.type(before).dtype, to = ctx.type(after).dtype;
  if (from != to)
    return invalid_model("its graph makes {} of {}", dtype_onnx_name(to), dtype_onnx_name(from));
  return after;
}

Expected<void> finish_attention(NodeCtx& ctx, ValueId probabilities) {
  Composer c(ctx);
  const ValueId value = c.in(2), wide = c.cast(value, c.dtype(probabilities));
  return c.emit(
      c.cast(grouped_product(c, probabilities, wide, "...mk,...kn->...mn"), c.dtype(value)));
}

class OpenProbabilities : public OpenNode {
 public:
  explicit OpenProbabilities(ValueId probabilities) : probabilities_(probabilities) {}
  Expected<void> finish(NodeCtx& ctx, std::vector<BodyResult> results) override {
    SCANLOOM_TRY(const ValueId after, changed(ctx, results, probabilities_));
    return finish_attention(ctx, after);
  }

 private:
  ValueId probabilities_;
};

Expected<void> soften(NodeCtx& ctx, ValueId scores) {
  SCANLOOM_TRY(const ValueId soft, ctx.op(ops::softmax_op, {scores}, {{"axis", -1}}));
  SCANLOOM_TRY(const bool opened,
               open_graph(ctx, std::make_unique<OpenProbabilities>(soft), "prob_mod", soft));
  if (opened) return {};
  return finish_attention(ctx, soft);
}

class OpenScores : public OpenNode {
 public:
  explicit OpenScores(ValueId scores) : scores_(scores) {}
  Expected<void> finish(NodeCtx& ctx, std::vector<BodyResult> results) override {
    SCANLOOM_TRY(const ValueId after, changed(ctx, results, scores_));
    return soften(ctx, after);
  }

 private:
  ValueId scores_;
};

}  // namespace

Expected<void> convert_flex_attention(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId query = c.in(0), key = c.in(1);
  for (int i = 0; i < 3; ++i)
    if (const int rank = c.rank(i, c.in(i), 4); c.ok() && rank != 4)
      return invalid_model("{} has {} axes, not 4", ctx.describe_input(i), rank);
  const DType precision = c.dtype_attribute("softmax_precision", at_least_f32(c.dtype(query)));
  if (!is_floating_point(precision))
    return invalid_model("attribute 'softmax_precision' is {}", dtype_onnx_name(precision));
  const ValueId scale = root_of_scale(c, query);
  const ValueId scores = c.cast(
      grouped_product(c, c.mul(query, scale), c.mul(key, scale), "...mk,...nk->...mn"), precision);
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_TRY(const bool opened,
               open_graph(ctx, std::make_unique<OpenScores>(scores), "score_mod", scores));
  ctx.ignore("prob_mod");
  if (opened) return {};
  return soften(ctx, scores);
}

}  // namespace scanloom::onnx
