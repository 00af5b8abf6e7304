// Low latency: what the loops of a module carry becomes a state of the module, so that a sequence
// fed piece by piece, one run per piece, gives the same bits as the whole.
#pragma once

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::passes {

/// Turns the values that loops and recurrent layers carry along the open size that they walk into
/// hidden states. Inputs and results stay as they are: a run begins with the current values of the
/// states, or with the initial values of the loops if the states have none yet. A state is named
/// after the body, the argument and a number: "loop/h/variable_0". A value that a variable of the
/// model already keeps, from the end of a loop to its beginning, is left to that variable.
///
/// Errors: those of stream_form; unsupported (a variable that is assigned anything else, by name).
Expected<void> keep_loop_states(ir::Module& module);

}  // namespace scanloom::passes
