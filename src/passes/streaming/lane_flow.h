// Follows the axis of the batch through a stream form, into loops and branches, with the rules by
// which operators tell where the steps are (OpDef::steps): a rule that keeps steps apart keeps rows
// apart.
#pragma once

#include <variant>

#include "passes/streaming/lane_axes.h"

namespace scanloom::passes {

/// `axes`: the axis of the batch in each argument, as far as the sizes show it. Those of states are
/// completed by what their next values have. Refusal: the node that mixes rows or may do so.
std::variant<LaneAxes, Refusal> follow_lanes(const ir::Module& module, ir::Dim batch,
                                             LaneAxisList axes);

}  // namespace scanloom::passes
