// Sizes of inputs that must be equal because elements meet one by one.
#pragma once

#include "ir/module.h"

namespace scanloom::expr {

/// Gives sizes of the graph's inputs one symbol where every run needs them to be equal: an input's
/// size that is not 1 in its type is not repeated, as in Theano. Types are inferred anew. With one
/// symbol the passes know that nothing is broadcast, and feeds that differ are told apart by name.
Expected<void> relate_sizes(ir::Module& module);

}  // namespace scanloom::expr
