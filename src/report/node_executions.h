// How each node is executed once the plan is bound to input sizes: by a kernel, as a part of
// another call or of a loop's machine code, or not at all.
#pragma once

#include "plan/binding.h"
#include "report/json.h"

namespace scanloom::report {

/// Returns an object from the number of a node to {"kind", "text", "with"}. `with`: the node whose
/// call or code computes it, if that is another one.
Json node_executions(const plan::Binding& binding);

}  // namespace scanloom::report
