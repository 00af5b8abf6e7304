// Replaces a stack of which only rows of the last steps are read by these rows, which the loop
// carries: it keeps them instead of one row per step. It runs after canonicalise, which turns parts
// into slices, and merge_common, which finds rows that the loop carries anyway; and before
// drop_dead_code, which removes the stack.
//
// Loops that take as many steps as an input has elements are left to keep_open_rows.
#include "passes/loops/last_rows.h"

namespace scanloom::passes {

Expected<Change> keep_last_rows(ir::Module& module) {
  return keep_rows_of_last_steps(module, Counted::by_values, false);
}

}  // namespace scanloom::passes
