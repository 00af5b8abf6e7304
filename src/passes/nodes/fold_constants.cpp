#include "passes/nodes/folding.h"

namespace scanloom::passes {

Expected<Change> fold_constants(ir::Module& module) { return fold(module, Results::no_larger); }

}  // namespace scanloom::passes
