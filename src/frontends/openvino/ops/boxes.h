// Lists of boxes that a detector keeps, and how their coordinates are decoded.
#pragma once

#include <optional>
#include <vector>

#include "frontends/openvino/ops/layer_composer.h"

namespace scanloom::openvino {

/// Returns the values of a topk along an axis, and their indices; the first of equal elements
/// comes first.
struct Best {
  ir::ValueId values, indices;
};
Best best_of(LayerComposer& c, ir::ValueId x, ir::ValueId count, std::int64_t axis, bool largest);

/// Boxes that were kept, as lists of equal length, which only the run knows.
class KeptBoxes {
 public:
  /// Those of scores [image, class, box] that are not -inf, image by image, class by class.
  static KeptBoxes of(LayerComposer& c, ir::ValueId scores);

  // i64, and f32 the scores.
  ir::ValueId image, of_class, box, score;

  [[nodiscard]] ir::ValueId count(LayerComposer& c) const { return c.dim(score, 0); }
  /// Orders by one of the lists; what is equal stays in order.
  void sort(LayerComposer& c, ir::ValueId KeptBoxes::* by, bool descending);
  /// Orders by score, the best first, within each class of each image.
  void sort_in_classes(LayerComposer& c);
  /// Replaces all lists by their elements at `indices`.
  void pick(LayerComposer& c, ir::ValueId indices);
  /// Returns how many there are of each of `images`, i64.
  [[nodiscard]] ir::ValueId counts(LayerComposer& c, ir::ValueId images) const;
  /// Keeps the first `limit` ones of each image. Precondition: they are ordered by image.
  void keep_first(LayerComposer& c, ir::ValueId images, std::int64_t limit);
};

/// The four corners, or other numbers, of boxes: tensors of equal shapes.
struct Corners {
  ir::ValueId x0, y0, x1, y1;

  /// Those along the last axis of a tensor, which has four elements and is left out.
  static Corners along_last(LayerComposer& c, ir::ValueId boxes);
  /// Puts the corners along a new last axis.
  [[nodiscard]] ir::ValueId joined(LayerComposer& c) const;
  [[nodiscard]] Corners clipped(LayerComposer& c, ir::ValueId width, ir::ValueId height) const;
  [[nodiscard]] Corners divided(LayerComposer& c, ir::ValueId width, ir::ValueId height) const;
};

/// How boxes are moved by the deltas that a model predicts.
struct DeltaRule {
  double margin = 0;                   ///< the width of a box is x1 - x0 + margin
  double end_margin = 0;               ///< subtracted from the new x1 and y1
  std::optional<double> max_log = {};  ///< of the logarithms of new sides
};

/// Returns the boxes moved by multiples of their sides and scaled by exponentials.
Corners moved(LayerComposer& c, const Corners& boxes, const Corners& deltas, const DeltaRule& rule);

/// Which boxes suppress_boxes keeps. Invalid values stand for absent operands.
struct Suppression {
  const char* form = "ordered";
  ir::ValueId max_per_class = {}, overlap = {}, least_score = {}, sigma = {};
  std::int64_t candidates = -1;
  double margin = 0, eta = 1;
  bool touching = false, inclusive = false;
};

/// Returns the scores [image, class, box], -inf where a box is dropped.
ir::ValueId suppressed(LayerComposer& c, ir::ValueId boxes, ir::ValueId scores,
                       const Suppression& rule);

/// Returns a list of f32.
ir::ValueId floats_of(LayerComposer& c, const std::vector<double>& values);

/// Returns the variances of all boxes, by box and corner, in the given sizes.
ir::ValueId box_variances(LayerComposer& c, ir::ValueId shape);

/// Returns scores [..., class, box] that are NaN, so never kept, in one class, unless it is
/// negative.
ir::ValueId without_class(LayerComposer& c, ir::ValueId scores, std::int64_t of_class);

}  // namespace scanloom::openvino
