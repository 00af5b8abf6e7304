// The rules of the loop-nest IR.
#pragma once

#include "base/expected.h"
#include "loopnest/loopnest.h"

namespace scanloom::loopnest {

/// Checks what every pass and every compiler relies on: slots, buffers, registers and parameters
/// exist; accesses have a stride per axis; programs take what is read and give what is written;
/// sizes are 1 at least; blocks are no deeper than kMaxStatementDepth. Errors: internal, naming the
/// statement by its indices from the outermost block inwards, with both numbers. Whether accesses
/// stay within the memory of the run's slots is not known here.
Expected<void> verify(const BodySource& source);

}  // namespace scanloom::loopnest
