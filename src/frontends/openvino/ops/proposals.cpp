// Proposal, GenerateProposals and ExperimentalDetectronGenerateProposalsSingleImage: anchors that
// are moved by predicted deltas, and the best of them that do not overlap.
#include <cmath>
#include <limits>
#include <vector>

#include "frontends/openvino/ops/boxes.h"
#include "frontends/openvino/ops/converters.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

// The greatest logarithm by which a side may grow, as in Detectron.
constexpr double kMaxLog = 4.135166556742356;  // log(1000 / 16)

/// How many boxes are compared and how many of them are kept.
struct ProposalCounts {
  std::int64_t before, after;
};

Expected<ProposalCounts> proposal_counts(LayerCtx& ctx, const char* before, const char* after) {
  ProposalCounts counts{};
  SCANLOOM_TRY(counts.before, ctx.attributes.integer(before));
  SCANLOOM_TRY(counts.after, ctx.attributes.integer(after));
  constexpr std::int64_t kMax = std::int64_t{1} << 31;
  if (counts.before < 1 || counts.after < 1 || counts.before > kMax || counts.after > kMax)
    return invalid_model("attributes '{}' and '{}' are {} and {}: at least 1 is needed, at most {}",
                         before, after, counts.before, counts.after, kMax);
  return counts;
}

/// Boxes [image, box, 4] and scores [image, box], the best first. -inf: not kept.
struct Proposals {
  ValueId boxes, scores;

  /// Keeps as many as there are, at most `count`.
  void keep_best(LayerComposer& c, std::int64_t count) {
    const Best best =
        best_of(c, scores, c.join({c.min(c.dim(scores, 1), c.number(count))}), 1, true);
    scores = best.values;
    boxes = c.op(ops::gather_nd_op, {boxes, c.unsqueeze(best.indices, {-1})}, {{"batch_dims", 1}});
  }
  /// Drops those that overlap better ones.
  void suppress(LayerComposer& c, Suppression rule, std::int64_t after) {
    rule.max_per_class = c.number(after);
    scores = c.squeeze(suppressed(c, boxes, c.unsqueeze(scores, {1}), rule), {1});
    keep_best(c, after);
  }
  [[nodiscard]] ValueId kept(LayerComposer& c) const {
    return c.less(c.like(-std::numeric_limits<double>::infinity(), scores), scores);
  }
};

/// Appends zeros along axis 1 up to `count` elements.
ValueId filled_up(LayerComposer& c, ValueId x, std::int64_t count, std::size_t rank) {
  const ValueId missing = c.sub(c.number(count), c.dim(x, 1));
  const ValueId none = c.list(std::vector<std::int64_t>(rank, 0));
  const ValueId after = c.list(std::vector<std::int64_t>(rank - 2, 0));
  return c.op(ops::pad_op, {x, c.join({none, c.number(0), missing, after})},
              {{"mode", "constant"}});
}

/// Whether both sides of the boxes reach a minimum.
ValueId are_large(LayerComposer& c, const Corners& boxes, double margin, ValueId width,
                  ValueId height) {
  const auto reaches = [&](ValueId low, ValueId high, ValueId least) {
    const ValueId side = c.sub(high, low);
    return c.less_equal(least, margin == 0 ? side : c.add(side, c.like(margin, side)));
  };
  return c.both(reaches(boxes.x0, boxes.x1, width), reaches(boxes.y0, boxes.y1, height));
}

}  // namespace

// Version 6. Deltas are [4 * anchors, rows, columns], scores [anchors, rows, columns]. Small boxes
// have the score 0.
Expected<void> convert_generate_proposals_of_image(LayerCtx& ctx) {
  LayerComposer c(ctx);
  SCANLOOM_TRY(const ProposalCounts counts,
               proposal_counts(ctx, "pre_nms_count", "post_nms_count"));
  const ValueId image = c.reshape(c.wide_in(0), c.list({-1})), anchors = c.wide_in(1);
  const ValueId deltas = c.wide_in(2), scores = c.wide_in(3);
  const double least = c.real("min_size", 0);
  const ValueId by_anchor =
      c.reshape(deltas, c.join({c.dim(scores, 0), c.number(4), c.shape(deltas, 1)}));
  const Corners by =
      Corners::along_last(c, c.reshape(c.transpose(by_anchor, {2, 3, 0, 1}), c.list({-1, 4})));
  const ValueId height = c.sub(c.gather(image, c.number(0), 0), c.like(1, image));
  const ValueId width = c.sub(c.gather(image, c.number(1), 0), c.like(1, image));
  const Corners boxes =
      moved(c, Corners::along_last(c, anchors), by, {1, 1, kMaxLog}).clipped(c, width, height);
  const ValueId size = c.like(least, image);
  const ValueId flat = c.reshape(c.transpose(scores, {1, 2, 0}), c.list({-1}));
  const ValueId weighed = c.mul(c.cast(are_large(c, boxes, 1, size, size), c.dtype(flat)), flat);
  Proposals all{c.unsqueeze(boxes.joined(c), {0}), c.unsqueeze(weighed, {0})};
  all.keep_best(c, counts.before);
  all.suppress(c, {.overlap = c.scalar(c.real("nms_threshold", 0), DType::f32), .touching = true},
               counts.after);
  const ValueId kept = all.kept(c);
  const ValueId zeros = c.like(0, all.scores);
  const auto finished = [&](ValueId x, std::size_t rank) {
    return c.cast(c.squeeze(filled_up(c, x, counts.after, rank), {0}), c.dtype(c.in(3)));
  };
  const ValueId rois = finished(c.where(c.unsqueeze(kept, {2}), all.boxes, zeros), 3);
  const ValueId best = finished(c.where(kept, all.scores, zeros), 2);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, rois);
  ctx.set_output(1, best);
  return {};
}

namespace {

/// Returns element i of each image's [height, width, scale] or [height, width, scale_y, scale_x],
/// or the last one for -1, as [image, 1].
ValueId of_each_image(LayerComposer& c, ValueId images, std::int64_t i) {
  return c.unsqueeze(c.gather(images, c.number(i), 1), {1});
}

/// Returns all boxes of GenerateProposals and their scores; the fifth number of a box says whether
/// it is large enough.
Proposals generated_boxes(LayerComposer& c, double margin) {
  const ValueId images = c.wide_in(0), anchors = c.wide_in(1);
  const ValueId deltas = c.wide_in(2), scores = c.wide_in(3);
  const ValueId batch = c.dim(scores, 0);
  const ValueId by_anchor =
      c.reshape(deltas, c.join({batch, c.dim(scores, 1), c.number(4), c.shape(deltas, 2)}));
  const ValueId flat = c.reshape(c.transpose(by_anchor, {0, 3, 4, 1, 2}),
                                 c.join({batch, c.number(-1), c.number(4)}));
  const auto end = [&](std::int64_t i) {
    return c.sub(of_each_image(c, images, i), c.like(margin, images));
  };
  const Corners given = Corners::along_last(c, c.reshape(anchors, c.list({-1, 4})));
  const Corners boxes = moved(c, given, Corners::along_last(c, flat), {margin, margin, kMaxLog})
                            .clipped(c, end(1), end(0));
  const auto least = [&](std::int64_t i) {
    return c.mul(c.like(c.real("min_size", 0), images), of_each_image(c, images, i));
  };
  const ValueId large = are_large(c, boxes, margin, least(-1), least(2));
  return {c.concat({boxes.joined(c), c.unsqueeze(c.cast(large, c.dtype(deltas)), {2})}, 2),
          c.reshape(c.transpose(scores, {0, 2, 3, 1}), c.join({batch, c.number(-1)}))};
}

}  // namespace

// Anchors are [rows, columns, anchors, 4], deltas [image, 4 * anchors, rows, columns]. Small boxes
// are dropped after the best ones were picked. The results have as many rows as boxes kept.
Expected<void> convert_generate_proposals(LayerCtx& ctx) {
  LayerComposer c(ctx);
  SCANLOOM_TRY(const ProposalCounts counts,
               proposal_counts(ctx, "pre_nms_count", "post_nms_count"));
  const double margin = c.flag("normalized", true) ? 0 : 1;
  const DType of_counts = c.take(ctx.attributes.dtype("roi_num_type", DType::i64));
  if (const std::int64_t known = c.known_size(c.in(0), 1); known >= 0 && (known < 3 || known > 4))
    return invalid_model("input 0 has {} numbers per image, but 3 or 4 are needed", known);
  Proposals all = generated_boxes(c, margin);
  all.keep_best(c, counts.before);
  const ValueId large = c.less(c.like(0, all.scores), c.gather(all.boxes, c.number(4), 2));
  all.boxes = c.slice(all.boxes, 2, 0, 4);
  all.scores =
      c.where(large, all.scores, c.like(std::numeric_limits<double>::quiet_NaN(), all.scores));
  all.suppress(c,
               {.overlap = c.scalar(c.real("nms_threshold", 0), DType::f32),
                .margin = margin,
                .eta = c.real("nms_eta", 1),
                .touching = true},
               counts.after);
  const ValueId kept = all.kept(c);
  const ValueId at = c.transpose(c.op(ops::non_zero_op, {kept}), {1, 0});
  const auto picked = [&](ValueId x) {
    return c.cast(c.op(ops::gather_nd_op, {x, at}, {{"batch_dims", 0}}), c.dtype(c.in(3)));
  };
  const ValueId rois = picked(all.boxes), best = picked(all.scores);
  const ValueId found =
      c.cast(c.squeeze(c.reduce(c.cast(kept, DType::i64), "sum", {1}), {1}), of_counts);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, rois);
  ctx.set_output(1, best);
  ctx.set_output(2, found);
  return {};
}

namespace {

/// Returns the anchors of Proposal, by ratio, then scale, as [anchor, 4]. Sides are rounded unless
/// they follow TensorFlow, where corners are relative to the middle.
std::vector<float> anchors_of(double base_size, const std::vector<double>& ratios,
                              const std::vector<double>& scales, bool tensorflow) {
  const auto base = static_cast<float>(base_size);
  const float margin = tensorflow ? 0 : 1;
  const float middle = 0.5F * (base - margin) - (tensorflow ? base * 0.5F : 0);
  std::vector<float> anchors;
  for (const double one : ratios) {
    const auto ratio = static_cast<float>(one);
    float width = std::sqrt(base * base / ratio);
    if (!tensorflow) width = std::round(width);
    float height = width * ratio;
    if (!tensorflow) height = std::round(height);
    for (const double factor : scales) {
      const float x = 0.5F * (width * static_cast<float>(factor) - margin);
      const float y = 0.5F * (height * static_cast<float>(factor) - margin);
      anchors.insert(anchors.end(), {middle - x, middle - y, middle + x, middle + y});
    }
  }
  return anchors;
}

/// Returns the anchors at every cell, as corners [row, column, anchor].
Corners anchors_at_cells(LayerComposer& c, const std::vector<float>& anchors, ValueId deltas,
                         double stride, bool swapped) {
  const auto count = static_cast<std::int64_t>(anchors.size()) / 4;
  const ValueId own =
      c.cast(c.builder().constant(tensor::Tensor::of<float>({count, 4}, anchors)), c.dtype(deltas));
  const auto starts = [&](int axis, std::vector<std::int64_t> added) {
    const ValueId cells = c.cast(c.count_up(c.dim(deltas, axis)), c.dtype(deltas));
    return c.unsqueeze(c.mul(cells, c.like(stride, cells)), std::move(added));
  };
  const ValueId down = starts(2, {1, 2}), right = starts(3, {0, 2});
  const ValueId x = swapped ? down : right, y = swapped ? right : down;
  const Corners given = Corners::along_last(c, own);
  return {c.add(x, given.x0), c.add(y, given.y0), c.add(x, given.x1), c.add(y, given.y1)};
}

/// What Proposal reads.
class ProposalLayer {
 public:
  explicit ProposalLayer(LayerComposer& c)
      : c_(c),
        tensorflow_(c.ctx().attributes.text("framework") == "tensorflow"),
        margin_(tensorflow_ ? 0 : 1) {}

  Expected<void> convert();

 private:
  /// Errors: attributes and operands that do not fit.
  Expected<void> read();
  /// Splits [image, anchors * each, rows, columns] and puts the cells first.
  [[nodiscard]] ValueId by_cell(ValueId x, std::int64_t each) const {
    const ValueId parts = c_.join({batch_, c_.number(anchors()), c_.number(each), c_.shape(x, 2)});
    return c_.transpose(c_.reshape(x, parts), {0, 3, 4, 1, 2});
  }
  [[nodiscard]] Corners boxes() const;
  [[nodiscard]] Proposals best() const;
  /// Returns rows of image and corners, those of each image filled up.
  [[nodiscard]] ValueId rows(const Proposals& all) const;
  [[nodiscard]] ValueId number(std::int64_t i) const { return c_.gather(image_, c_.number(i), 0); }
  [[nodiscard]] std::int64_t anchors() const {
    return static_cast<std::int64_t>(ratios_.size()) * static_cast<std::int64_t>(scales_.size());
  }

  LayerComposer& c_;
  bool tensorflow_;
  double margin_;
  ProposalCounts counts_{};
  std::vector<double> ratios_, scales_;
  ValueId scores_, deltas_, image_, batch_, width_, height_;
};

Expected<void> ProposalLayer::read() {
  LayerCtx& ctx = c_.ctx();
  SCANLOOM_TRY(counts_, proposal_counts(ctx, "pre_nms_topn", "post_nms_topn"));
  SCANLOOM_TRY(ratios_, ctx.attributes.floats("ratio"));
  SCANLOOM_TRY(scales_, ctx.attributes.floats("scale"));
  if (anchors() < 1 || anchors() > 1 << 20)
    return invalid_model("attributes 'ratio' and 'scale' have {} and {} numbers", ratios_.size(),
                         scales_.size());
  scores_ = c_.wide_in(0);
  deltas_ = c_.wide_in(1);
  image_ = c_.reshape(c_.wide_in(2), c_.list({-1}));
  batch_ = c_.dim(deltas_, 0);
  SCANLOOM_CHECK_OK(c_.done());
  if (const std::int64_t given = c_.known_size(scores_, 1); given >= 0 && given != 2 * anchors())
    return invalid_model("input 0 has {} channels, but {} anchors need {}", given, anchors(),
                         2 * anchors());
  if (const std::int64_t given = c_.known_size(c_.in(2), 0); given >= 0 && (given < 3 || given > 4))
    return invalid_model("input 2 has {} numbers, but 3 or 4 are needed", given);
  // As TensorFlow has it, x counts rows, so that it ends at the height of the image.
  height_ = number(tensorflow_ ? 1 : 0);
  width_ = number(tensorflow_ ? 0 : 1);
  return {};
}

Corners ProposalLayer::boxes() const {
  const std::vector<float> own = anchors_of(c_.real("base_size", 0), ratios_, scales_, tensorflow_);
  Corners boxes = anchors_at_cells(c_, own, deltas_, c_.real("feat_stride", 0), tensorflow_);
  if (tensorflow_) boxes = boxes.clipped(c_, width_, height_);
  const Corners by = Corners::along_last(c_, by_cell(deltas_, 4));
  const ValueId place = c_.like(c_.real("box_coordinate_scale", 1), deltas_);
  const ValueId size = c_.like(c_.real("box_size_scale", 1), deltas_);
  const Corners scaled = {c_.div(by.x0, place), c_.div(by.y0, place), c_.div(by.x1, size),
                          c_.div(by.y1, size)};
  boxes = moved(c_, boxes, scaled, {.margin = margin_});
  if (!c_.flag("clip_before_nms", true)) return boxes;
  return boxes.clipped(c_, c_.sub(width_, c_.like(margin_, width_)),
                       c_.sub(height_, c_.like(margin_, height_)));
}

Proposals ProposalLayer::best() const {
  const Corners all = boxes();
  const auto least = [&](std::int64_t i) {
    return c_.mul(c_.like(c_.real("min_size", 0), image_), number(i));
  };
  const ValueId large = are_large(c_, all, margin_, least(-1), least(2));
  const ValueId scores =
      c_.squeeze(by_cell(c_.slice(scores_, 1, anchors(), 2 * anchors()), 1), {4});
  Proposals best{c_.reshape(all.joined(c_), c_.join({batch_, c_.number(-1), c_.number(4)})),
                 c_.reshape(c_.mul(c_.cast(large, c_.dtype(scores)), scores),
                            c_.join({batch_, c_.number(-1)}))};
  best.keep_best(c_, counts_.before);
  best.suppress(c_,
                {.overlap = c_.scalar(c_.real("nms_thresh", 0), DType::f32),
                 .margin = margin_,
                 .touching = true},
                counts_.after);
  return best;
}

ValueId ProposalLayer::rows(const Proposals& all) const {
  Corners last = Corners::along_last(c_, all.boxes);
  if (c_.flag("clip_after_nms", false)) last = last.clipped(c_, width_, height_);
  if (c_.flag("normalize", false)) last = last.divided(c_, width_, height_);
  const ValueId kept = all.kept(c_), zero = c_.like(0, all.scores);
  const ValueId corners =
      filled_up(c_, c_.where(c_.unsqueeze(kept, {2}), last.joined(c_), zero), counts_.after, 3);
  // The image of the row after the last one is -1, that of rows after it 0.
  const ValueId order = c_.count_up(c_.number(counts_.after));
  const ValueId found = c_.reduce(c_.cast(kept, DType::i64), "sum", {1});
  const ValueId ended = c_.where(c_.equal(order, found), c_.number(-1), c_.number(0));
  const ValueId images =
      c_.where(c_.less(order, found), c_.unsqueeze(c_.count_up(batch_), {1}), ended);
  return c_.reshape(c_.concat({c_.unsqueeze(c_.cast(images, c_.dtype(corners)), {2}), corners}, 2),
                    c_.list({-1, 5}));
}

Expected<void> ProposalLayer::convert() {
  SCANLOOM_CHECK_OK(read());
  LayerCtx& ctx = c_.ctx();
  const Proposals all = best();
  const DType dtype = c_.dtype(c_.in(0));
  const ValueId regions = c_.cast(rows(all), dtype);
  SCANLOOM_CHECK_OK(c_.done());
  ctx.set_output(0, regions);
  if (ctx.version() < 4) return {};
  const ValueId scores = c_.where(all.kept(c_), all.scores, c_.like(0, all.scores));
  const ValueId filled = filled_up(c_, scores, counts_.after, 2);
  ctx.set_output(1, c_.cast(c_.reshape(filled, c_.list({-1})), dtype));
  return c_.done();
}

}  // namespace

// Scores are [image, 2 * anchors, rows, columns], the second half those of objects. Rows of the
// result are image and corners; after the last one of an image the image is -1, then all is 0.
// Since version 4 also the scores.
Expected<void> convert_proposal(LayerCtx& ctx) {
  LayerComposer c(ctx);
  return ProposalLayer(c).convert();
}

}  // namespace scanloom::openvino
