// Does what keep_last_rows does, for loops with as many steps as an input has elements along an
// open axis. It runs last, on a copy of the module: a stream cuts such inputs into pieces and needs
// the stack to find what belongs to a piece, so it is made from the original module.
#include "passes/loops/last_rows.h"

namespace scanloom::passes {

bool has_open_rows(const ir::Module& module) {
  // keep_last_rows has handled all other loops, and copying a module takes as long as a pass.
  if (!has_loops_counted_by_sizes(module)) return false;
  ir::Module copy = module;
  return has_rows_of_last_steps(copy, Counted::by_sizes_too);
}

Expected<Change> keep_open_rows(ir::Module& module) {
  return keep_rows_of_last_steps(module, Counted::by_sizes_too, true);
}

}  // namespace scanloom::passes
