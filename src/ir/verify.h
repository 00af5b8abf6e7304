// The verifier: whether a module keeps every rule of the IR. Reads raw fields from the outside in
// and never crashes on a malformed module. Runs after every pass in tests and checked builds.
#pragma once

#include "ir/module.h"

namespace scanloom::ir {

/// Errors: internal, naming node, operand and both numbers; the first broken rule found.
Expected<void> verify(const Module& module);

}  // namespace scanloom::ir
