// The verifier: checks that a module keeps every rule of the IR. Reads the raw fields and never
// crashes on a malformed module. Runs after every pass in tests and checked builds.
#pragma once

#include "ir/module.h"

namespace scanloom::ir {

/// Errors: internal, for the first broken rule found, naming node, operand and both numbers.
Expected<void> verify(const Module& module);

}  // namespace scanloom::ir
