// The form of a module that a stream runs: sequences come in pieces, and what loops carry from one
// step to the next is kept from one piece to the next.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"
#include "passes/lifting/step_axes.h"

namespace scanloom::passes {

struct StreamForm {
  /// Its `states` are what the loops carry; the outputs behind `outputs` are their next values.
  ir::Module module;
  std::size_t outputs = 0;  ///< the model's own
  /// Computes the first values of states that begin with neither a constant, an input nor zeros.
  std::optional<ir::Module> initial;
  std::vector<std::size_t> computed;  ///< by output of `initial`: the state
};

/// Makes pieces of the inputs that share the size which the loops walk along, or products sum over.
/// Every node must treat the steps alike: results of a step come from its own inputs and from
/// states. Inputs that only first values are computed from are left to `initial`. Errors:
/// unsupported (what computes across steps, by name; no loop walks along a size that is open),
/// invalid_argument.
Expected<StreamForm> stream_form(const ir::Module& module);

/// The open size that such pieces are cut along, followed through the module: one along which
/// values are carried, or else one that a loop or layer walks along. Errors: as above.
Expected<StepAxes> streamed_axes(const ir::Module& module);

/// Whether a loop or layer walks along a size of the inputs that is open.
[[nodiscard]] bool walks_open_size(const ir::Module& module);

}  // namespace scanloom::passes
