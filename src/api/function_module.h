// Converts a saved function to a module for sessions: shared variables that are only read become
// constants, those that are updated become states that begin with their saved values.
#pragma once

#include "api/saved_function.h"

namespace scanloom {

/// Returns a module whose arguments are the inputs, then the states, and whose results are the
/// outputs, then the next states. Infers types anew.
[[nodiscard]] Expected<ir::Module> module_of(SavedFunction function);

}  // namespace scanloom
