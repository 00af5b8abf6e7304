// Where the steps of a sequence stand in the values that are computed from it outside of loops, and
// which nodes compute across them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::passes {

/// What one value of the top region has to do with the steps.
struct StepFlow {
  enum class Kind : std::uint8_t {
    same,   ///< nothing
    along,  ///< the elements along `axis` belong to the steps, in their order
    count,  ///< how many steps there are
    sizes,  ///< of a value along the steps, as a list; element `axis` is the count
    last,   ///< what a loop or layer has carried to the end
    sum,    ///< a product that sums over the steps, to be added to a carried value
  };
  Kind kind = Kind::same;
  int axis = 0;
  ir::Dim each = 1;  ///< along: how many neighbours there belong to each step, one after the other
};

/// An initial value of a loop or layer that walks along the steps, or of a sum over them, and the
/// result that it ends as.
struct CarriedSite {
  ir::NodeId node;
  std::size_t input = 0, output = 0;
  ir::Type type;  ///< that every step leaves it
};

struct StepAxes {
  std::vector<StepFlow> flows;  ///< by ValueId
  std::vector<CarriedSite> sites;
};

/// An LSTM, GRU or RNN layer.
[[nodiscard]] bool is_recurrent_layer(const ir::Node& node);

/// Follows the axes of the module's arguments that have the size `steps`. Error: unsupported,
/// naming the first node that computes across the steps, or may do so.
Expected<StepAxes> follow_steps(const ir::Module& module, ir::Dim steps);

}  // namespace scanloom::passes
