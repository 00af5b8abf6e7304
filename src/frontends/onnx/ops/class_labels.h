// What the classical models of ai.onnx.ml share: labels of classes, and transforms of scores.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

/// Returns input 0 with two axes, [rows, features]: one axis is one row. Error: more axes.
ir::ValueId rows_of(Composer& c);

/// Returns numbers as a constant with one axis, rounded to `dtype`, f32 or f64.
ir::ValueId numbers_value(Composer& c, const std::vector<double>& values, DType dtype = DType::f32);

/// The labels of the classes of a model, either strings or integers.
struct ClassLabels {
  std::vector<std::string> texts;
  std::vector<std::int64_t> integers;

  [[nodiscard]] bool are_texts() const { return !texts.empty(); }
  [[nodiscard]] std::size_t size() const { return are_texts() ? texts.size() : integers.size(); }
  /// Returns the label of each index, an i64 tensor. Precondition: the indices are in range.
  ir::ValueId at(Composer& c, ir::ValueId index) const;
  /// Returns label 1 where the condition holds, label 0 elsewhere. Models that do not have two
  /// labels have 0 and 1, of the same type.
  ir::ValueId either(Composer& c, ir::ValueId condition) const;
};

/// Reads the attributes of labels. Errors: both are present, or neither is.
Expected<ClassLabels> read_labels(NodeCtx& ctx, std::string_view texts, std::string_view integers);

enum class PostTransform : std::uint8_t { none, softmax, logistic, softmax_zero, probit };

/// Reads the attribute `post_transform`. Error: an unknown name.
Expected<PostTransform> read_transform(NodeCtx& ctx);
/// Applies the transform to scores, [rows, classes].
ir::ValueId transformed(Composer& c, ir::ValueId scores, PostTransform transform);

/// Applies the transform to the results of a regression: with one target, only probit.
ir::ValueId transformed_targets(Composer& c, ir::ValueId scores, std::int64_t targets,
                                PostTransform transform);
/// Returns two scores, [rows, 2], from that of the second class: that of the first is its opposite,
/// or 1 minus it. A softmax has no effect on them.
ir::ValueId spread(Composer& c, ir::ValueId score, bool opposite, PostTransform transform);

/// Returns the column of scores, [rows, classes], as [rows, 1].
ir::ValueId column(Composer& c, ir::ValueId scores, std::int64_t index);
/// Returns the index of the greatest score of each row, the first of equal ones.
ir::ValueId best_class(Composer& c, ir::ValueId scores);

}  // namespace scanloom::onnx
