// The verifier: checks that a module keeps every rule of the IR. Reads the raw fields and never
// crashes on a malformed module. Runs after every pass in tests and checked builds.
#pragma once

#include "ir/module.h"

namespace scanloom::ir {

/// Whether the types of results are compared with those that inference gives, which takes as long
/// as all other rules together: not where inference has just set them.
enum class ResultTypes : bool { trusted, checked };

/// Errors: internal, for the first broken rule found, naming node, operand and both numbers.
Expected<void> verify(const Module& module, ResultTypes types = ResultTypes::checked);

}  // namespace scanloom::ir
