// States that steps update in place: a ring of rows, a table that fills up. Their next value is the
// one before with some elements written, and nothing reads what was there afterwards.
#pragma once

#include <optional>
#include <vector>

#include "ir/infer.h"
#include "ir/module.h"

namespace scanloom::plan {

struct InPlaceStates {
  /// By carried value: the values that a step makes of it, each by a scatter from the one before,
  /// the last one yielded; none: its next value is made elsewhere.
  std::vector<std::vector<ir::ValueId>> values;
  /// The body's nodes, these scatters behind all that reads what they write over.
  std::vector<ir::NodeId> order;
};

/// nullopt where no state of the loop is updated in place. `uses`: of ir::count_uses.
std::optional<InPlaceStates> in_place_states(const ir::Module& module, ir::NodeId loop,
                                             const ir::Inference& inference,
                                             const std::vector<std::uint32_t>& uses);

}  // namespace scanloom::plan
