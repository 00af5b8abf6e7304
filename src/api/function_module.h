// A saved function as the module of a model, for sessions: shared variables that stay are
// constants, those that are updated are states, which begin with the values that they were saved
// with.
#pragma once

#include "api/saved_function.h"

namespace scanloom {

/// Returns a module whose arguments are the inputs and then the states, and whose results are the
/// outputs and then the next states. Types are inferred anew.
[[nodiscard]] Expected<ir::Module> module_of(SavedFunction function);

}  // namespace scanloom
