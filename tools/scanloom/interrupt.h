// Ctrl-C: the first one asks the run to end, the second one ends the program.
#pragma once

#include <scanloom/options.h>

namespace scanloom::cli {

/// From now on Ctrl-C sets the flag, which is the same one at every call.
const CancelFlag* cancel_on_interrupt();

/// For commands that run often: a short run may be over before it looks at the flag. Throws Failure
/// (cancelled) when Ctrl-C has come.
void end_if_interrupted();

}  // namespace scanloom::cli
