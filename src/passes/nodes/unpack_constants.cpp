// Weights that are stored as f16 or in few bits are unpacked once, not in every run. A pass of its
// own: a model that is written elsewhere had better keep them as they are.
#include "passes/nodes/folding.h"

namespace scanloom::passes {

Expected<Change> unpack_constants(ir::Module& module) { return fold(module, Results::larger); }

}  // namespace scanloom::passes
