// Constant folding: evaluates nodes that depend only on constants, with the reference kernels, and
// nodes that depend only on known sizes. It runs after the passes that bring constants together
// with the nodes that read them.
#pragma once

#include "passes/pass.h"

namespace scanloom::passes {

/// Which results are computed: those that take no more memory than what they are made from, or also
/// larger ones.
enum class Results : bool { no_larger, larger };

Expected<Change> fold(ir::Module& module, Results results);

}  // namespace scanloom::passes
