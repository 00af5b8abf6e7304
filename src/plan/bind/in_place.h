// Finds states that steps can update in place, such as a ring buffer of rows, a table that fills
// up, or a matrix of which a step changes one column. The next value is the previous one with some
// elements overwritten. Readers of the old value run before the write, readers of the new one
// after.
#pragma once

#include <optional>
#include <vector>

#include "ir/infer.h"
#include "ir/module.h"

namespace scanloom::plan {

struct InPlaceStates {
  /// By carried value: its successive values in a step, each a scatter into the previous one or
  /// into a view of that. Empty: the state is not updated in place.
  std::vector<std::vector<ir::ValueId>> values;
  /// The body's nodes in an order in which each scatter follows all readers of what it overwrites.
  std::vector<ir::NodeId> order;
};

/// Returns the loop's in-place states; nullopt if it has none.
std::optional<InPlaceStates> in_place_states(const ir::Module& module, ir::NodeId loop,
                                             const ir::Inference& inference);

}  // namespace scanloom::plan
