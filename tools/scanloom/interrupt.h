// Ctrl-C: the first one asks the run to end, the second one ends the program.
#pragma once

#include <scanloom/options.h>

namespace scanloom::cli {

/// From now on Ctrl-C sets the flag, which is the same one at every call.
const CancelFlag* cancel_on_interrupt();

}  // namespace scanloom::cli
