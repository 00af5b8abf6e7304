// The steps in nodes that carry values along them: loops, recurrent layers and sums over the steps;
// step_axes.h follows them from node to node.
#pragma once

#include <vector>

#include "base/expected.h"
#include "ir/step_rules.h"
#include "passes/lifting/step_axes.h"

namespace scanloom::passes {

/// Where the steps are in the results of a node that carries values from step to step.
struct CarriedFlow {
  std::vector<StepFlow> results;  ///< of the first results; the rest do not depend on the steps
  std::vector<CarriedSite> sites;
};

/// Checks that the loop takes as many steps as there are, and reads nothing of all of them. Error:
/// unsupported, saying what it does instead.
Expected<void> check_steps_of_loop(const ir::StepSite& site, ir::NodeId id);
/// Returns whether a scanned port of a loop along the steps takes the last one first. Error:
/// unsupported, if it walks along another axis, or does not take one at a time.
Expected<bool> scans_backwards(const ir::StepSite& site, std::size_t scanned);
/// Returns how many elements each step of a loop adds to a stacked result along the axis of its
/// rows. Error: unsupported, saying that it is not known.
Expected<ir::Dim> elements_of_row(const ir::StepSite& site, std::size_t stacked);

/// A loop along the steps. Error: unsupported, saying why its steps are not the stream's.
Expected<CarriedFlow> flow_of_loop(const ir::StepSite& site, ir::NodeId id);
/// An LSTM, GRU or RNN along the steps. Error: unsupported, saying why its steps are not the
/// stream's.
Expected<CarriedFlow> flow_of_layer(const ir::StepSite& site, ir::NodeId id);
/// A node that reads a sum over the steps: what it adds to the sum is carried from piece to piece.
/// Error: unsupported, saying that it does anything else with the sum.
Expected<CarriedFlow> flow_of_sum(const ir::StepSite& site, ir::NodeId id);

}  // namespace scanloom::passes
