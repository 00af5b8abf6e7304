// Ctrl-C: the first one asks the run to end, the second one ends the program.
#pragma once

#include <scanloom/options.h>

namespace scanloom::cli {

/// Makes Ctrl-C set the returned flag; every call returns the same one.
const CancelFlag* cancel_on_interrupt();

/// Throws Failure (cancelled) after Ctrl-C. For commands that run repeatedly: a short run may end
/// before it polls the flag.
void end_if_interrupted();

}  // namespace scanloom::cli
