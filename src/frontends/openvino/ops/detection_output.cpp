// DetectionOutput and ExperimentalDetectronDetectionOutput: predicted boxes of all classes, without
// those that overlap better ones.
#include <limits>

#include "frontends/openvino/ops/boxes.h"
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

struct DetectionAttributes {
  std::int64_t background = 0, top_k = -1, keep_top_k = -1;
  bool variance_in_target = false, center = false, shared = true, normalized = false;
  bool clip_before = false, clip_after = false, mxnet = false;
  double overlap = 0, least_score = 0, objectness = 0, width = 1, height = 1;
};

Expected<DetectionAttributes> detection_attributes(LayerCtx& ctx) {
  LayerComposer c(ctx);
  DetectionAttributes a;
  a.background = c.integer("background_label_id", 0);
  a.top_k = c.integer("top_k", -1);
  SCANLOOM_TRY(const auto keep, ctx.attributes.integers("keep_top_k"));
  if (keep.empty()) return invalid_model("attribute 'keep_top_k' is missing");
  a.keep_top_k = keep[0];
  SCANLOOM_TRY(a.overlap, ctx.attributes.real("nms_threshold"));
  a.least_score = c.real("confidence_threshold", 0);
  a.objectness = c.real("objectness_score", 0);
  const std::string code =
      c.choice("code_type", "caffe.priorboxparameter.corner",
               {"caffe.priorboxparameter.corner", "caffe.priorboxparameter.center_size"});
  a.center = code.ends_with("size");
  a.shared = c.flag("share_location", true);
  a.variance_in_target = c.flag("variance_encoded_in_target", false);
  a.clip_before = c.flag("clip_before_nms", false);
  a.clip_after = c.flag("clip_after_nms", false);
  a.mxnet = c.flag("decrease_label_id", false);
  a.normalized = c.flag("normalized", false);
  a.width = c.real("input_width", 1);
  a.height = c.real("input_height", 1);
  SCANLOOM_CHECK_OK(c.done());
  constexpr std::int64_t kMax = std::int64_t{1} << 31;
  if (a.top_k > kMax || a.keep_top_k > kMax)
    return invalid_model("attributes 'top_k' and 'keep_top_k' are {} and {}, at most {} is allowed",
                         a.top_k, a.keep_top_k, kMax);
  return a;
}

/// The operands of DetectionOutput, with the axes apart.
class Detections {
 public:
  Detections(LayerComposer& c, const DetectionAttributes& a) : c_(c), a_(a) {}

  /// Sets the rows of image, class, score and corners.
  Expected<void> convert();

 private:
  void read();
  /// Returns the prior boxes moved by predictions [image, prior, location, 4].
  Corners decoded(const Corners& priors, ValueId predictions) const;
  [[nodiscard]] Corners relative(const Corners& boxes) const {
    return boxes.divided(c_, c_.like(a_.width, boxes.x0), c_.like(a_.height, boxes.x0));
  }
  [[nodiscard]] ValueId class_scores() const;
  /// For scores [image, class, prior], those of the best class of each prior; the others are NaN.
  [[nodiscard]] ValueId best_classes(ValueId scores) const;
  KeptBoxes keep(ValueId scores);
  ValueId finished(const KeptBoxes& kept);
  /// Splits an operand [image, prior * locations * 4].
  [[nodiscard]] ValueId located(int i) const {
    return c_.reshape(c_.wide_in(i), c_.join({images_, priors_, locations_, c_.number(4)}));
  }

  LayerComposer& c_;
  const DetectionAttributes& a_;
  ValueId images_, priors_, classes_, locations_;
  Corners boxes_;                   // [image, prior, location]
  std::vector<ValueId> variances_;  // [image or 1, prior, 1] each; empty: all 1
};

void Detections::read() {
  const ValueId given = c_.wide_in(2);
  const std::int64_t each = a_.normalized ? 4 : 5;
  images_ = c_.dim(c_.in(0), 0);
  priors_ = c_.div(c_.dim(given, 2), c_.number(each));
  classes_ = c_.ctx().version() < 8 ? c_.number(c_.take(c_.ctx().attributes.integer("num_classes")))
                                    : c_.div(c_.dim(c_.in(1), 1), priors_);
  locations_ = a_.shared ? c_.number(1) : classes_;
  const ValueId rows =
      c_.reshape(c_.slice(given, 1, 0, 1), c_.join({c_.dim(given, 0), priors_, c_.number(each)}));
  const auto one = [&](std::int64_t i) {
    return c_.unsqueeze(c_.gather(rows, c_.number(i + each - 4), 2), {2});
  };
  boxes_ = {one(0), one(1), one(2), one(3)};
  if (!a_.normalized) boxes_ = relative(boxes_);
  if (a_.variance_in_target) return;
  const ValueId flat =
      c_.slice(c_.reshape(c_.slice(given, 1, 1, 2), c_.join({c_.dim(given, 0), c_.dim(given, 2)})),
               1, c_.number(0), c_.mul(priors_, c_.number(4)));
  const ValueId spread =
      c_.reshape(flat, c_.join({c_.dim(given, 0), priors_, c_.number(1), c_.number(4)}));
  for (std::int64_t i = 0; i < 4; ++i) variances_.push_back(c_.gather(spread, c_.number(i), 3));
}

Corners Detections::decoded(const Corners& priors, ValueId predictions) const {
  Corners by = Corners::along_last(c_, predictions);
  if (!variances_.empty())
    by = {c_.mul(variances_[0], by.x0), c_.mul(variances_[1], by.y0), c_.mul(variances_[2], by.x1),
          c_.mul(variances_[3], by.y1)};
  Corners boxes = a_.center ? moved(c_, priors, by, {})
                            : Corners{c_.add(priors.x0, by.x0), c_.add(priors.y0, by.y0),
                                      c_.add(priors.x1, by.x1), c_.add(priors.y1, by.y1)};
  const ValueId one = c_.like(1, predictions);
  return a_.clip_before ? boxes.clipped(c_, one, one) : boxes;
}

ValueId Detections::class_scores() const {
  ValueId scores = c_.reshape(c_.wide_in(1), c_.join({images_, priors_, classes_}));
  if (c_.ctx().has(3) && c_.ctx().has(4)) {
    // What is no object counts as background.
    const ValueId objects = c_.reshape(c_.wide_in(3), c_.join({images_, priors_, c_.number(2)}));
    const ValueId score = c_.slice(objects, 2, 1, 2);
    const ValueId background =
        c_.cast(c_.equal(c_.count_up(classes_), c_.number(a_.background)), c_.dtype(scores));
    scores = c_.where(c_.less(score, c_.like(a_.objectness, score)), background, scores);
  }
  return without_class(c_, c_.transpose(scores, {0, 2, 1}), a_.background);
}

ValueId Detections::best_classes(ValueId scores) const {
  const ValueId nan = c_.like(std::numeric_limits<double>::quiet_NaN(), scores);
  const ValueId least = c_.like(-1, scores), classes = c_.unsqueeze(c_.count_up(classes_), {1});
  // Class 0 and the background are never the best.
  const ValueId counted =
      c_.where(c_.both(c_.less(c_.number(0), classes), c_.less(least, scores)), scores, least);
  const ValueId best =
      c_.op(ops::argmax_op, {counted}, {{"axis", 1}, {"keepdims", 1}, {"select_last_index", 0}});
  const ValueId own =
      c_.where(c_.both(c_.equal(classes, best), c_.less(least, counted)), scores, nan);
  if (a_.top_k < 0) return own;
  // The best of all classes: those before the first one that is too many.
  const ValueId values = c_.reduce(counted, "max", {1});
  const ValueId some = c_.join({c_.min(priors_, c_.number(a_.top_k))});
  const Best first = best_of(c_, c_.squeeze(values, {1}), some, 1, true);
  const ValueId none = c_.expand(c_.number(0), c_.join({images_, priors_}));
  const ValueId ones = c_.expand(c_.number(1), c_.shape(first.indices));
  const ValueId picked = c_.op(ops::scatter_elements_op, {none, first.indices, ones},
                               {{"axis", 1}, {"reduction", "none"}});
  return c_.where(c_.unsqueeze(c_.equal(picked, c_.number(1)), {1}), own, nan);
}

KeptBoxes Detections::keep(ValueId scores) {
  Suppression rule;
  rule.overlap = c_.scalar(a_.overlap, DType::f32);
  rule.least_score = c_.scalar(a_.least_score, DType::f32);
  rule.inclusive = false;
  if (!a_.mxnet) rule.candidates = a_.top_k < 0 ? -1 : a_.top_k;
  ValueId boxes = boxes_.joined(c_);
  if (a_.shared) {
    boxes = c_.reshape(boxes, c_.join({images_, priors_, c_.number(4)}));
  } else {
    // Each class of an image has boxes of its own.
    const ValueId parts = c_.mul(images_, classes_);
    boxes = c_.reshape(c_.transpose(boxes, {0, 2, 1, 3}), c_.join({parts, priors_, c_.number(4)}));
    scores = c_.reshape(scores, c_.join({parts, c_.number(1), priors_}));
  }
  const ValueId left = suppressed(c_, boxes, scores, rule);
  KeptBoxes kept = KeptBoxes::of(c_, c_.reshape(left, c_.join({images_, classes_, priors_})));
  if (a_.keep_top_k >= 0) {
    kept.sort(c_, &KeptBoxes::box, false);
    kept.sort(c_, &KeptBoxes::score, true);
    kept.sort(c_, &KeptBoxes::image, false);
    kept.keep_first(c_, images_, a_.keep_top_k);
  }
  kept.sort_in_classes(c_);
  return kept;
}

ValueId Detections::finished(const KeptBoxes& kept) {
  const auto at = [&](ValueId list) { return c_.unsqueeze(list, {1}); };
  const ValueId location = a_.shared ? c_.mul(kept.of_class, c_.number(0)) : kept.of_class;
  const ValueId places = c_.concat({at(kept.image), at(kept.box), at(location)}, 1);
  Corners own = Corners::along_last(
      c_, c_.op(ops::gather_nd_op, {boxes_.joined(c_), places}, {{"batch_dims", 0}}));
  const ValueId one = c_.like(1, kept.score);
  if (a_.clip_after) own = own.clipped(c_, one, one);
  const DType dtype = c_.dtype(kept.score);
  const ValueId labels = a_.mxnet ? c_.sub(kept.of_class, c_.number(1)) : kept.of_class;
  const ValueId rows = c_.concat(
      {at(c_.cast(kept.image, dtype)), at(c_.cast(labels, dtype)), at(kept.score), own.joined(c_)},
      1);
  // The row after the last one has the image -1, those after it are 0.
  const ValueId end = c_.builder().constant(
      tensor::Tensor::of<float>({1, 7}, std::vector<float>{-1, 0, 0, 0, 0, 0, 0}));
  const ValueId of_image = a_.keep_top_k > 0 ? c_.number(a_.keep_top_k)
                           : a_.top_k > 0    ? c_.mul(c_.number(a_.top_k), classes_)
                                             : c_.mul(priors_, classes_);
  const ValueId all = c_.mul(images_, of_image);
  const ValueId missing = c_.max(c_.sub(all, c_.add(kept.count(c_), c_.number(1))), c_.number(0));
  const ValueId zeros = c_.expand(c_.like(0, kept.score), c_.join({missing, c_.number(7)}));
  const ValueId full = c_.concat({rows, c_.cast(end, dtype), zeros}, 0);
  return c_.reshape(c_.slice(full, 0, c_.number(0), all),
                    c_.join({c_.number(1), c_.number(1), all, c_.number(7)}));
}

Expected<void> Detections::convert() {
  read();
  SCANLOOM_CHECK_OK(c_.done());
  Corners priors = boxes_;
  if (c_.ctx().has(3) && c_.ctx().has(4)) {
    priors = decoded(priors, located(4));
    // OpenVINO divides by the size of the image before each of the two steps.
    if (!a_.normalized) priors = relative(priors);
  }
  boxes_ = decoded(priors, located(0));
  // One set of priors may serve all images.
  const ValueId shape = c_.join({images_, priors_, locations_});
  for (ValueId* one : {&boxes_.x0, &boxes_.y0, &boxes_.x1, &boxes_.y1})
    *one = c_.expand(*one, shape);
  ValueId scores = class_scores();
  if (a_.mxnet) scores = best_classes(scores);
  return c_.emit(c_.cast(finished(keep(scores)), c_.dtype(c_.in(0))));
}

}  // namespace

// Since version 8 the number of classes follows from the sizes.
Expected<void> convert_detection_output(LayerCtx& ctx) {
  SCANLOOM_TRY(const DetectionAttributes attributes, detection_attributes(ctx));
  LayerComposer c(ctx);
  return Detections(c, attributes).convert();
}

namespace {

/// The attributes of ExperimentalDetectronDetectionOutput.
struct DetectronAttributes {
  std::int64_t classes = 0, most = 0, per_class = 0;
  std::vector<double> weights;
};

Expected<DetectronAttributes> detectron_attributes(LayerCtx& ctx) {
  DetectronAttributes a;
  SCANLOOM_TRY(a.classes, ctx.attributes.integer("num_classes"));
  SCANLOOM_TRY(a.most, ctx.attributes.integer("max_detections_per_image"));
  SCANLOOM_TRY(a.per_class, ctx.attributes.integer("post_nms_count"));
  SCANLOOM_TRY(a.weights, ctx.attributes.floats("deltas_weights"));
  constexpr std::int64_t kMax = std::int64_t{1} << 31;
  if (a.classes < 1 || a.most < 1 || a.classes > kMax || a.most > kMax)
    return invalid_model("{} classes and {} detections: at least 1 is needed, at most {}",
                         a.classes, a.most, kMax);
  if (a.weights.size() != 4)
    return invalid_model("attribute 'deltas_weights' has {} numbers, not 4", a.weights.size());
  if (a.per_class < 0) a.per_class = kMax;
  return a;
}

/// Regions, moved by the deltas of each class, and their scores.
struct ClassBoxes {
  ValueId boxes, scores;  // [class, region, 4] and [class, region]
};

/// Regions without an area have corners and scores of 0.
ClassBoxes moved_by_class(LayerComposer& c, const DetectronAttributes& a) {
  const ValueId given = c.wide_in(0), deltas = c.wide_in(1), scores = c.wide_in(2);
  const Corners regions = Corners::along_last(c, given);
  const ValueId split =
      c.reshape(deltas, c.join({c.dim(given, 0), c.number(a.classes), c.number(4)}));
  Corners by = Corners::along_last(c, c.transpose(split, {1, 0, 2}));
  const auto weighted = [&](ValueId x, std::size_t i) { return c.div(x, c.like(a.weights[i], x)); };
  by = {weighted(by.x0, 0), weighted(by.y0, 1), weighted(by.x1, 2), weighted(by.y1, 3)};
  Corners boxes = moved(c, regions, by, {1, 1, c.real("max_delta_log_wh", 0)});
  const ValueId zero = c.like(0, given);
  const ValueId empty =
      c.op(ops::logical_or_op, {c.less_equal(c.sub(regions.x1, regions.x0), zero),
                                c.less_equal(c.sub(regions.y1, regions.y0), zero)});
  for (ValueId* one : {&boxes.x0, &boxes.y0, &boxes.x1, &boxes.y1})
    *one = c.where(empty, zero, c.max(zero, *one));
  return {boxes.joined(c), c.where(empty, zero, c.transpose(scores, {1, 0}))};
}

/// Keeps at most `most`; only if there are more, they are ordered by score instead of by class.
void keep_most(LayerComposer& c, KeptBoxes& kept, std::int64_t most) {
  KeptBoxes best = kept;
  best.sort(c, &KeptBoxes::score, true);
  const ValueId many = c.less(c.number(most), kept.count(c));
  for (ValueId KeptBoxes::* list :
       {&KeptBoxes::image, &KeptBoxes::of_class, &KeptBoxes::box, &KeptBoxes::score})
    kept.*list = c.slice(c.where(many, best.*list, kept.*list), 0, 0, most);
}

}  // namespace

// Version 6. Class 0 is the background. The results always have as many rows as the greatest number
// of detections; those that are left are 0.
Expected<void> convert_detectron_output(LayerCtx& ctx) {
  LayerComposer c(ctx);
  SCANLOOM_TRY(const DetectronAttributes a, detectron_attributes(ctx));
  const ClassBoxes all = moved_by_class(c, a);
  Suppression rule{.margin = 1, .touching = true};
  rule.overlap = c.scalar(c.real("nms_threshold", 0), DType::f32);
  rule.least_score = c.scalar(c.real("score_threshold", 0), DType::f32);
  rule.max_per_class = c.number(a.per_class);
  const ValueId scores = c.unsqueeze(without_class(c, all.scores, 0), {1});
  const ValueId left = suppressed(c, all.boxes, scores, rule);
  KeptBoxes kept = KeptBoxes::of(c, c.transpose(left, {1, 0, 2}));
  kept.sort_in_classes(c);
  keep_most(c, kept, a.most);
  const ValueId at = c.concat({c.unsqueeze(kept.of_class, {1}), c.unsqueeze(kept.box, {1})}, 1);
  const ValueId corners = c.op(ops::gather_nd_op, {all.boxes, at}, {{"batch_dims", 0}});
  const ValueId missing = c.sub(c.number(a.most), kept.count(c));
  const auto filled = [&](ValueId x, ValueId pads) {
    return c.op(ops::pad_op, {x, pads}, {{"mode", "constant"}});
  };
  const ValueId of_list = c.join({c.number(0), missing});
  const ValueId of_rows = c.join({c.list({0, 0}), missing, c.number(0)});
  const DType dtype = c.dtype(c.in(0));
  const ValueId rows = c.cast(filled(corners, of_rows), dtype);
  const ValueId labels = c.cast(filled(kept.of_class, of_list), DType::i32);
  const ValueId values = c.cast(filled(kept.score, of_list), dtype);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, rows);
  ctx.set_output(1, labels);
  ctx.set_output(2, values);
  return {};
}

}  // namespace scanloom::openvino
