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
    along,  ///< element k along `axis` belongs to step k
    count,  ///< how many steps there are
    sizes,  ///< of a value along the steps, as a list; element `axis` is the count
    last,   ///< what a loop or layer has carried to the end
    sum,    ///< a product that sums over the steps, to be added to a carried value
  };
  Kind kind = Kind::same;
  int axis = 0;
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

/// Follows the axes of the module's arguments that have the size `steps`. Error: unsupported,
/// naming the first node that computes across the steps, or may do so.
Expected<StepAxes> follow_steps(const ir::Module& module, ir::Dim steps);

/// Where the results of one node have the axis that its operands have where their flow, by ValueId,
/// is `along`: element k of theirs depends on element k of those alone. Error: unsupported, saying
/// why it does not, or may not.
Expected<int> follow_node(const ir::Module& module, const ir::Node& node,
                          const std::vector<StepFlow>& flows);

}  // namespace scanloom::passes
