// The form of a module that a stream runs: sequences arrive in pieces, and what loops carry from
// step to step is kept from one piece to the next.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"
#include "passes/lifting/step_axes.h"

namespace scanloom::passes {

struct StreamForm {
  /// Its `states` are what the loops carry. The outputs from position `outputs` on are their next
  /// values.
  ir::Module module;
  std::size_t outputs = 0;  ///< the number of the model's own
  /// Computes the initial values of states that begin with neither a constant, an input nor zeros.
  std::optional<ir::Module> initial;
  std::vector<std::size_t> computed;    ///< by output of `initial`: the index of the state
  std::vector<ir::StepFlow> arguments;  ///< where each argument of `module` has the steps
  std::vector<ir::StepFlow> results;    ///< the same of the model's own outputs
};

/// Cuts the inputs into pieces along the size that the loops walk, or that products sum over. Every
/// node must treat the steps alike: the results of a step come from its own inputs and from states.
/// Inputs that only initial values are computed from are left to `initial`. Errors: unsupported
/// (what computes across steps, by name; no loop walks along an open size), invalid_argument.
Expected<StreamForm> stream_form(const ir::Module& module);

/// Returns the open size that the pieces are cut along, followed through the module: one along
/// which values are carried, otherwise one that a loop or layer walks along. Errors: as above.
Expected<StepAxes> streamed_axes(const ir::Module& module);

/// By ValueId: whether the results of the module depend on a value of the top region.
std::vector<bool> values_read(const ir::Module& module);

/// Returns the open sizes of the inputs that loops and layers take their steps along.
[[nodiscard]] std::vector<ir::Dim> open_walked_sizes(const ir::Module& module);

}  // namespace scanloom::passes
