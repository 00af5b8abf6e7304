// States that steps update in place: a ring of rows, a table that fills up, a matrix of which a
// step changes a column. Their next value is the one before with some elements written; what reads
// it as it was comes before that, what reads it as it is then comes after.
#pragma once

#include <optional>
#include <vector>

#include "ir/infer.h"
#include "ir/module.h"

namespace scanloom::plan {

struct InPlaceStates {
  /// By carried value: the values that a step makes of it, each by a scatter from the one before or
  /// from a view of that; none: its next value is made elsewhere.
  std::vector<std::vector<ir::ValueId>> values;
  /// The body's nodes in an order in which these scatters come after all that reads what they write
  /// over.
  std::vector<ir::NodeId> order;
};

/// nullopt where no state of the loop is updated in place.
std::optional<InPlaceStates> in_place_states(const ir::Module& module, ir::NodeId loop,
                                             const ir::Inference& inference);

}  // namespace scanloom::plan
