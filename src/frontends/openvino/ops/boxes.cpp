#include "frontends/openvino/ops/boxes.h"

#include <limits>

namespace scanloom::openvino {

using ir::ValueId;

Best best_of(LayerComposer& c, ValueId x, ValueId count, std::int64_t axis, bool largest) {
  if (!c.ok()) return {};
  const auto node = c.take(c.builder().node(
      ops::topk_op, {x, count}, {{"axis", axis}, {"largest", largest}, {"sorted", 1}}, 2));
  if (!c.ok()) return {};
  const std::vector<ValueId>& made = c.builder().module().node(node).outputs;
  return Best{made[0], made[1]};
}

KeptBoxes KeptBoxes::of(LayerComposer& c, ValueId scores) {
  const ValueId least = c.like(-std::numeric_limits<double>::infinity(), scores);
  const ValueId found = c.op(ops::non_zero_op, {c.less(least, scores)});
  const auto row = [&](std::int64_t i) { return c.gather(found, c.number(i), 0); };
  KeptBoxes kept;
  kept.image = row(0);
  kept.of_class = row(1);
  kept.box = row(2);
  kept.score = c.op(ops::gather_nd_op, {scores, c.transpose(found, {1, 0})}, {{"batch_dims", 0}});
  return kept;
}

void KeptBoxes::pick(LayerComposer& c, ValueId indices) {
  for (ValueId* list : {&image, &of_class, &box, &score}) *list = c.gather(*list, indices, 0);
}

void KeptBoxes::sort(LayerComposer& c, ValueId KeptBoxes::* by, bool descending) {
  pick(c, best_of(c, this->*by, c.join({count(c)}), 0, descending).indices);
}

void KeptBoxes::sort_in_classes(LayerComposer& c) {
  sort(c, &KeptBoxes::score, true);
  sort(c, &KeptBoxes::of_class, false);
  sort(c, &KeptBoxes::image, false);
}

ValueId KeptBoxes::counts(LayerComposer& c, ValueId images) const {
  const ValueId is_own = c.equal(c.unsqueeze(c.count_up(images), {1}), image);
  return c.squeeze(c.reduce(c.cast(is_own, DType::i64), "sum", {1}), {1});
}

void KeptBoxes::keep_first(LayerComposer& c, ValueId images, std::int64_t limit) {
  const ValueId starts =
      c.op(ops::cumsum_op, {counts(c, images), c.number(0)}, {{"exclusive", 1}, {"reverse", 0}});
  const ValueId number = c.sub(c.count_up(count(c)), c.gather(starts, image, 0));
  const ValueId first = c.op(ops::non_zero_op, {c.less(number, c.number(limit))});
  pick(c, c.squeeze(first, {0}));
}

Corners Corners::along_last(LayerComposer& c, ValueId boxes) {
  const auto one = [&](std::int64_t i) { return c.gather(boxes, c.number(i), -1); };
  return {one(0), one(1), one(2), one(3)};
}

ValueId Corners::joined(LayerComposer& c) const {
  std::vector<ValueId> parts;
  for (const ValueId one : {x0, y0, x1, y1}) parts.push_back(c.unsqueeze(one, {-1}));
  return c.concat(std::move(parts), -1);
}

Corners Corners::clipped(LayerComposer& c, ValueId width, ValueId height) const {
  const auto within = [&](ValueId x, ValueId end) { return c.max(c.like(0, x), c.min(x, end)); };
  return {within(x0, width), within(y0, height), within(x1, width), within(y1, height)};
}

Corners Corners::divided(LayerComposer& c, ValueId width, ValueId height) const {
  return {c.div(x0, width), c.div(y0, height), c.div(x1, width), c.div(y1, height)};
}

Corners moved(LayerComposer& c, const Corners& boxes, const Corners& deltas,
              const DeltaRule& rule) {
  const auto along = [&](ValueId low, ValueId high, ValueId shift, ValueId log) {
    const ValueId half = c.like(0.5, low);
    ValueId side = c.sub(high, low);
    if (rule.margin != 0) side = c.add(side, c.like(rule.margin, side));
    const ValueId middle = c.add(c.mul(shift, side), c.add(low, c.mul(half, side)));
    const ValueId grown = c.exp(rule.max_log ? c.min(log, c.like(*rule.max_log, log)) : log);
    const ValueId reach = c.mul(half, c.mul(grown, side));
    ValueId end = c.add(middle, reach);
    if (rule.end_margin != 0) end = c.sub(end, c.like(rule.end_margin, end));
    return std::pair(c.sub(middle, reach), end);
  };
  const auto x = along(boxes.x0, boxes.x1, deltas.x0, deltas.x1);
  const auto y = along(boxes.y0, boxes.y1, deltas.y0, deltas.y1);
  return {x.first, y.first, x.second, y.second};
}

ValueId suppressed(LayerComposer& c, ValueId boxes, ValueId scores, const Suppression& rule) {
  const ValueId kept = c.op(ops::suppress_boxes_op,
                            {c.cast(boxes, DType::f32), c.cast(scores, DType::f32),
                             rule.max_per_class, rule.overlap, rule.least_score, rule.sigma},
                            {{"form", rule.form},
                             {"candidates", rule.candidates},
                             {"margin", rule.margin},
                             {"touching", rule.touching},
                             {"inclusive", rule.inclusive},
                             {"eta", rule.eta}});
  return c.cast(kept, c.dtype(scores));
}

ValueId floats_of(LayerComposer& c, const std::vector<double>& values) {
  const std::vector<float> numbers(values.begin(), values.end());
  return c.builder().constant(
      tensor::Tensor::of<float>({static_cast<std::int64_t>(numbers.size())}, numbers));
}

ValueId box_variances(LayerComposer& c, ValueId shape) {
  std::vector<double> given = c.take(c.ctx().attributes.floats("variance"));
  if (given.empty()) given = {0.1};
  if (c.ok() && given.size() != 1 && given.size() != 4)
    c.refuse(invalid_model("attribute 'variance' has {} numbers, not 1 or 4", given.size()));
  return c.expand(floats_of(c, given), shape);
}

ValueId without_class(LayerComposer& c, ValueId scores, std::int64_t of_class) {
  if (of_class < 0) return scores;
  const ValueId classes = c.unsqueeze(c.count_up(c.dim(scores, -2)), {1});
  return c.where(c.equal(classes, c.number(of_class)),
                 c.like(std::numeric_limits<double>::quiet_NaN(), scores), scores);
}

}  // namespace scanloom::openvino
