// Follows the axis of the steps through the values that are computed from a sequence outside of
// loops, and finds the nodes that compute across the steps.
#pragma once

#include <cstdint>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::passes {

/// How one value of the top region relates to the steps.
struct StepFlow {
  enum class Kind : std::uint8_t {
    same,   ///< does not depend on them
    along,  ///< the elements along `axis` belong to the steps, in order
    count,  ///< the number of steps
    sizes,  ///< the sizes of a value along the steps, as a list; element `axis` is the count
    last,   ///< the final value that a loop or layer carries
    sum,    ///< a product that sums over the steps, to be added to a carried value
  };
  Kind kind = Kind::same;
  int axis = 0;
  ir::Dim each = 1;  ///< along: how many consecutive elements belong to each step
};

/// An initial value, and the result that holds the final value, of a loop or layer along the steps
/// or of a sum over them.
struct CarriedSite {
  ir::NodeId node;
  std::size_t input = 0, output = 0;
  ir::Type type;  ///< the type that it has after each step
};

struct StepAxes {
  std::vector<StepFlow> flows;  ///< by ValueId
  std::vector<CarriedSite> sites;
};

/// Whether the node is an LSTM, GRU or RNN layer.
[[nodiscard]] bool is_recurrent_layer(const ir::Node& node);

/// Follows the axes of the module's arguments that have the size `steps`. Error: unsupported,
/// naming the first node that computes across the steps or may do so.
Expected<StepAxes> follow_steps(const ir::Module& module, ir::Dim steps);

}  // namespace scanloom::passes
