// Lowers the statements of a body, branches and inner loops included.
#pragma once

#include <vector>

#include "jit/body_function.h"

namespace scanloom::jit {

/// Emits a step of the body. With BodySource::timed, the code adds the processor clock ticks that
/// each statement takes to its sum.
void emit_step_statements(BodyFunction& body);

}  // namespace scanloom::jit
