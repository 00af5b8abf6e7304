// NonMaxSuppression, NMSRotated, MulticlassNms and MatrixNms.
#include <limits>

#include "frontends/openvino/ops/boxes.h"
#include "frontends/openvino/ops/converters.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// Returns input i as the scalar that the operator takes; invalid if it is absent.
ValueId scalar_in(LayerComposer& c, int i, DType dtype) {
  if (!c.ctx().has(i)) return {};
  return c.reshape(c.cast(c.in(i), dtype), c.list({}));
}

/// Whether scores are to decay instead of being dropped: not if sigma is known to be 0.
bool is_soft(const LayerCtx& ctx) {
  if (!ctx.has(5)) return false;
  const tensor::Tensor* const sigma = ctx.constant(5);
  const bool is_zero = sigma != nullptr && sigma->elements() == 1 && sigma->dtype() == DType::f32 &&
                       sigma->as<float>()[0] == 0;
  return !is_zero;
}

/// Sets the rows of image, class and box, those of image, class and score, and their number.
Expected<void> set_rows(LayerComposer& c, const KeptBoxes& kept, DType scores, DType dtype) {
  LayerCtx& ctx = c.ctx();
  const auto column = [&](ValueId list) { return c.unsqueeze(list, {1}); };
  const ValueId images = column(kept.image), classes = column(kept.of_class);
  const ValueId rows = c.cast(c.concat({images, classes, column(kept.box)}, 1), dtype);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, rows);
  if (ctx.version() < 5) return {};
  const ValueId positions = c.cast(c.concat({images, classes}, 1), scores);
  ctx.set_output(1, c.concat({positions, column(c.cast(kept.score, scores))}, 1));
  ctx.set_output(2, c.cast(c.join({kept.count(c)}), dtype));
  return c.done();
}

/// Soft suppression, or that of rotated boxes, whose `boxes` and `form` are given.
Expected<void> suppress(LayerComposer& c, ValueId boxes, const char* form) {
  LayerCtx& ctx = c.ctx();
  const ValueId scores = c.in(1);
  const bool descending = c.flag("sort_result_descending", true);
  const DType dtype = c.take(ctx.attributes.dtype("output_type", DType::i64));
  Suppression rule{.form = form};
  rule.max_per_class = ctx.has(2) ? scalar_in(c, 2, DType::i64) : c.number(0);
  rule.overlap = scalar_in(c, 3, DType::f32);
  rule.least_score = ctx.has(4) ? scalar_in(c, 4, DType::f32) : c.scalar(0, DType::f32);
  rule.sigma = scalar_in(c, 5, DType::f32);
  const ValueId left = suppressed(c, c.cast(boxes, DType::f32), c.cast(scores, DType::f32), rule);
  KeptBoxes kept = KeptBoxes::of(c, left);
  kept.sort_in_classes(c);
  if (descending) kept.sort(c, &KeptBoxes::score, true);
  return set_rows(c, kept, c.dtype(scores), dtype);
}

}  // namespace

// Rows of image, class and box. Since version 5 also rows with the score instead of the box, and
// the number of rows. In all versions there are as many rows as boxes kept.
Expected<void> convert_non_max_suppression(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId boxes = c.in(0), scores = c.in(1);
  const bool centered = c.choice("box_encoding", "corner", {"corner", "center"}) == "center";
  SCANLOOM_CHECK_OK(c.done());
  if (is_soft(ctx)) return suppress(c, boxes, centered ? "center" : "corners");
  const bool descending = c.flag("sort_result_descending", true);
  const DType dtype = c.take(ctx.attributes.dtype("output_type", DType::i64));
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(ops::non_max_suppression_op,
                                  {c.cast(boxes, DType::f32), c.cast(scores, DType::f32),
                                   scalar_in(c, 2, DType::i64), scalar_in(c, 3, DType::f32),
                                   scalar_in(c, 4, DType::f32)},
                                  {{"center_point_box", centered}}, 2));
  const ValueId rows = ctx.module().node(node).outputs[0];
  const auto column = [&](std::int64_t i) { return c.gather(rows, c.number(i), 1); };
  KeptBoxes kept;
  kept.image = column(0);
  kept.of_class = column(1);
  kept.box = column(2);
  kept.score = c.op(ops::gather_nd_op, {scores, rows}, {{"batch_dims", 0}});
  if (descending) kept.sort(c, &KeptBoxes::score, true);
  return set_rows(c, kept, c.dtype(scores), dtype);
}

// Boxes are center, sides and an angle.
Expected<void> convert_nms_rotated(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId boxes = c.cast(c.in(0), DType::f32);
  if (const std::int64_t numbers = c.known_size(boxes, 2); c.ok() && numbers >= 0 && numbers != 5)
    return invalid_model("input 0 has {} numbers per box, not 5", numbers);
  ValueId angle = c.slice(boxes, 2, 4, 5);
  if (!c.flag("clockwise", true)) angle = c.neg(angle);
  return suppress(c, c.concat({c.slice(boxes, 2, 0, 4), c.cos(angle), c.sin(angle)}, 2), "rotated");
}

namespace {

/// What MulticlassNms and MatrixNms share.
struct Detector {
  ValueId boxes, scores;
  double least_score = 0;
  std::int64_t candidates = -1, limit = -1, background = -1;
  bool normalized = true, across = false;
  std::string order;
  DType dtype = DType::i64;

  explicit Detector(LayerComposer& c)
      : boxes(c.wide_in(0)),
        scores(c.wide_in(1)),
        least_score(c.real("score_threshold", 0)),
        candidates(c.integer("nms_top_k", -1)),
        limit(c.integer("keep_top_k", -1)),
        background(c.integer("background_class", -1)),
        normalized(c.flag("normalized", true)),
        across(c.flag("sort_result_across_batch", false)),
        order(c.choice("sort_result_type", "none", {"none", "score", "classid"})),
        dtype(c.take(c.ctx().attributes.dtype("output_type", DType::i64))) {}

  /// Keeps the best of each image and puts them in the order that the layer asks for.
  void arrange(LayerComposer& c, KeptBoxes& kept, ValueId images) const {
    // By score, then class, then box.
    kept.sort(c, &KeptBoxes::box, false);
    kept.sort(c, &KeptBoxes::of_class, false);
    kept.sort(c, &KeptBoxes::score, true);
    kept.sort(c, &KeptBoxes::image, false);
    if (limit >= 0) kept.keep_first(c, images, limit);
    if (across && order == "score") kept.sort(c, &KeptBoxes::score, true);
    if (order == "classid") kept.sort(c, &KeptBoxes::of_class, false);
    if (order == "classid" && !across) kept.sort(c, &KeptBoxes::image, false);
  }
  /// Sets rows of class, score and corners, `positions` of the boxes, and the counts.
  Expected<void> set_outputs(LayerComposer& c, const KeptBoxes& kept, ValueId corners,
                             ValueId positions, ValueId counts) const {
    LayerCtx& ctx = c.ctx();
    const DType of_rows = c.dtype(c.in(0));
    const ValueId classes = c.unsqueeze(c.cast(kept.of_class, c.dtype(corners)), {1});
    const ValueId values = c.unsqueeze(c.cast(kept.score, c.dtype(corners)), {1});
    const ValueId rows = c.cast(c.concat({classes, values, corners}, 1), of_rows);
    const ValueId places = c.cast(c.unsqueeze(positions, {1}), dtype);
    const ValueId numbers = c.cast(counts, dtype);
    SCANLOOM_CHECK_OK(c.done());
    ctx.set_output(0, rows);
    ctx.set_output(1, places);
    ctx.set_output(2, numbers);
    return {};
  }
  /// For boxes [image, box, 4] that all classes share.
  Expected<void> finish(LayerComposer& c, ValueId left) const {
    const ValueId images = c.dim(boxes, 0);
    KeptBoxes kept = KeptBoxes::of(c, left);
    arrange(c, kept, images);
    const ValueId positions = c.add(c.mul(kept.image, c.dim(boxes, 1)), kept.box);
    const ValueId corners = c.gather(c.reshape(boxes, c.list({-1, 4})), positions, 0);
    return set_outputs(c, kept, corners, positions, kept.counts(c, images));
  }
};

Suppression rule_of(LayerComposer& c, const Detector& detector) {
  Suppression rule{.candidates = detector.candidates, .inclusive = true};
  rule.margin = detector.normalized ? 0 : 1;
  rule.eta = c.real("nms_eta", 1);
  rule.overlap = c.scalar(c.real("iou_threshold", 0), DType::f32);
  rule.least_score = c.scalar(detector.least_score, DType::f32);
  return rule;
}

/// Boxes [class, box, 4] and scores [class, box] of all images, one after the other; input 2 gives
/// the numbers of boxes. The operator takes classes as images and images as classes.
Expected<void> suppress_parts(LayerComposer& c, const Detector& detector) {
  const ValueId lengths = c.cast(c.in(2), DType::i64), all = c.dim(detector.boxes, 1);
  const ValueId ends =
      c.op(ops::cumsum_op, {lengths, c.number(0)}, {{"exclusive", 0}, {"reverse", 0}});
  const ValueId starts = c.sub(ends, lengths), numbers = c.count_up(all);
  const ValueId is_own = c.both(c.less_equal(c.unsqueeze(starts, {1}), numbers),
                                c.less(numbers, c.unsqueeze(ends, {1})));
  ValueId scores = c.unsqueeze(detector.scores, {1});
  scores = c.where(is_own, scores, c.like(std::numeric_limits<double>::quiet_NaN(), scores));
  if (detector.background >= 0) {
    const ValueId classes = c.unsqueeze(c.count_up(c.dim(scores, 0)), {1, 2});
    scores = c.where(c.equal(classes, c.number(detector.background)),
                     c.like(std::numeric_limits<double>::quiet_NaN(), scores), scores);
  }
  KeptBoxes kept = KeptBoxes::of(c, suppressed(c, detector.boxes, scores, rule_of(c, detector)));
  std::swap(kept.image, kept.of_class);
  const ValueId images = c.dim(lengths, 0);
  detector.arrange(c, kept, images);
  const ValueId at = c.concat({c.unsqueeze(kept.of_class, {1}), c.unsqueeze(kept.box, {1})}, 1);
  const ValueId corners = c.op(ops::gather_nd_op, {detector.boxes, at}, {{"batch_dims", 0}});
  const ValueId positions = c.add(c.mul(kept.box, c.dim(detector.boxes, 0)), kept.of_class);
  return detector.set_outputs(c, kept, corners, positions, kept.counts(c, images));
}

}  // namespace

// Version 9 may have boxes for each class.
Expected<void> convert_multiclass_nms(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const Detector detector(c);
  const int rank = c.rank(1, detector.scores);
  SCANLOOM_CHECK_OK(c.done());
  if (rank == 2 && ctx.has(2)) return suppress_parts(c, detector);
  if (rank != 3)
    return invalid_model("input 1 has {} axes, but 3 are needed{}", rank,
                         rank == 2 ? " without input 2, the numbers of boxes" : "");
  const ValueId scores = without_class(c, detector.scores, detector.background);
  return detector.finish(c, suppressed(c, detector.boxes, scores, rule_of(c, detector)));
}

Expected<void> convert_matrix_nms(LayerCtx& ctx) {
  LayerComposer c(ctx);
  Detector detector(c);
  const bool gaussian = c.choice("decay_function", "linear", {"linear", "gaussian"}) == "gaussian";
  std::vector<ir::NamedAttr> attrs = {{"form", "ordered"},
                                      {"candidates", detector.candidates},
                                      {"margin", detector.normalized ? 0.0 : 1.0},
                                      {"touching", 1},
                                      {"score_threshold", detector.least_score}};
  if (gaussian) attrs.push_back({"sigma", c.real("gaussian_sigma", 2)});
  const ValueId scores = without_class(c, detector.scores, detector.background);
  const ValueId decayed =
      c.op(ops::matrix_nms_op, {c.cast(detector.boxes, DType::f32), c.cast(scores, DType::f32)},
           std::move(attrs));
  const ValueId least = c.like(c.real("post_threshold", 0), decayed);
  const ValueId dropped = c.like(-std::numeric_limits<double>::infinity(), decayed);
  // Within an image they are always in the order of scores.
  if (!detector.across) detector.order = "score";
  return detector.finish(c, c.where(c.less(least, decayed), decayed, dropped));
}

}  // namespace scanloom::openvino
