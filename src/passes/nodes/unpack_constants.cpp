// Unpacks weights that are stored as f16 or in few bits once instead of in every run. It is a pass
// of its own, since a model that is exported should keep them packed.
#include "passes/nodes/folding.h"

namespace scanloom::passes {

Expected<Change> unpack_constants(ir::Module& module) { return fold(module, Results::larger); }

}  // namespace scanloom::passes
