// A saved function as the module of a model, for sessions: shared variables that stay are
// constants, those that are updated are states, which begin with the values that they were saved
// with.
#pragma once

#include "api/saved_function.h"

namespace scanloom {

/// Its arguments are the inputs and then the states, its results the outputs and then what the
/// states become. Types are inferred anew.
[[nodiscard]] Expected<ir::Module> module_of(SavedFunction function);

}  // namespace scanloom
