// Relates sizes of inputs that must be equal because their elements are combined one by one.
#pragma once

#include "ir/module.h"

namespace scanloom::expr {

/// Gives the same symbol to sizes of the graph's inputs that must be equal in every run: as in
/// Theano, an input is not broadcast along a size that is not 1 in its type. Types are inferred
/// again. With one symbol the passes know that nothing is broadcast, and errors about unequal feeds
/// name them.
Expected<void> relate_sizes(ir::Module& module);

}  // namespace scanloom::expr
