// What depends on constants alone is computed now, by the reference kernels, and so is what follows
// from sizes that are known. It stands after the passes that bring constants together with those
// that read them.
#pragma once

#include "passes/pass.h"

namespace scanloom::passes {

/// Which results are computed: such as take no more memory than what they are made of, or others,
/// too.
enum class Results : bool { no_larger, larger };

Expected<Change> fold(ir::Module& module, Results results);

}  // namespace scanloom::passes
