// Trees of the three ONNX operators, as the attributes of tree_ensemble.
#pragma once

#include <cstdint>
#include <vector>

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

/// Numbered as the modes of TreeEnsemble.
enum class SplitMode : std::uint8_t { leq, lt, gte, gt, eq, neq, member };

/// A node as a model gives it. A branch leads to inner node `to`, or to leaf -1 - to.
struct SplitNode {
  SplitMode mode = SplitMode::leq;
  std::int64_t feature = 0;
  double split = 0;
  std::vector<double> members;  ///< of mode member
  bool missing_true = false;    ///< NaN counts as true
  std::int64_t when_true = 0, when_false = 0;
};

struct LeafWeight {
  std::int64_t target = 0;
  double weight = 0;
};

/// The trees of a model, not yet checked for cycles.
struct TreeModel {
  std::vector<std::int64_t> roots;  ///< like branches
  std::vector<SplitNode> nodes;
  std::vector<std::vector<LeafWeight>> leaves;
  std::int64_t targets = 1;
};

/// Returns the sums, minima or maxima ("sum", "min", "max") of the weights for x, which has two
/// axes and is f32 or f64. Errors: a cycle, targets and features out of range.
Expected<ir::ValueId> tree_scores(Composer& c, ir::ValueId x, const TreeModel& model,
                                  const char* aggregate);

}  // namespace scanloom::onnx
