// Stacks of which only rows of the last steps are read are replaced by these rows, which the loop
// carries (tail_rows.h): it keeps as many rows as are read, however many steps it takes. Shared by
// the passes that do it: keep_last_rows and keep_open_rows.
#pragma once

#include "passes/pass.h"

namespace scanloom::passes {

enum class Counted {
  /// Loops whose number of steps is known or given as a value, or that a condition may end.
  by_values,
  /// Also loops whose trip count is a size of a scanned input: a stream cuts these, and must find
  /// the stack.
  by_sizes_too,
};

/// Replaces such stacks by the rows of the last steps. remove_stacks: also removes the stacks,
/// which nothing reads any more. Errors: internal.
Expected<Change> keep_rows_of_last_steps(ir::Module& module, Counted counted, bool remove_stacks);
/// Whether the module has a loop with stacks whose trip count is a size of a scanned input.
[[nodiscard]] bool has_loops_counted_by_sizes(const ir::Module& module);
/// Whether there is such a stack.
[[nodiscard]] bool has_rows_of_last_steps(ir::Module& module, Counted counted);

}  // namespace scanloom::passes
