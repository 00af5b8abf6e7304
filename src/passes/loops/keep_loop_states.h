// Low latency: what the loops of a module carry from step to step becomes a state of the module, so
// that a sequence fed piece by piece, a run for each, gives the bits of the whole.
#pragma once

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::passes {

/// Makes hidden states of the values that loops and recurrent layers carry along the open size that
/// they walk. Inputs and results stay as they are: a run begins with the values that the states
/// have, and with the first values of the loops where they have none yet. Each is named after the
/// body, the argument and its number, "loop/h/variable_0". What a variable of the model keeps
/// already, from the end of a loop to its beginning, is left to it.
///
/// Errors: those of stream_form; unsupported (a variable that is assigned anything else, by name).
Expected<void> keep_loop_states(ir::Module& module);

}  // namespace scanloom::passes
