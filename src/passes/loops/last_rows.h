// Replaces stacks of which only the rows of the last steps are read by those rows, which the loop
// carries (tail_rows.h): the memory no longer depends on the number of steps. Shared by the passes
// keep_last_rows and keep_open_rows.
#pragma once

#include "passes/pass.h"

namespace scanloom::passes {

enum class Counted {
  /// Loops whose number of steps is known or given as a value, or that a condition may end.
  by_values,
  /// Also loops whose trip count is a size of a scanned input. A stream cuts these, and must find
  /// the stack.
  by_sizes_too,
};

/// Replaces such stacks by the rows of the last steps. remove_stacks: also removes the stacks that
/// nothing reads any more. Errors: internal.
Expected<Change> keep_rows_of_last_steps(ir::Module& module, Counted counted, bool remove_stacks);
/// Whether the module has a loop with stacks whose trip count is a size of a scanned input.
[[nodiscard]] bool has_loops_counted_by_sizes(const ir::Module& module);
/// Whether the module has a stack that keep_rows_of_last_steps would replace.
[[nodiscard]] bool has_rows_of_last_steps(ir::Module& module, Counted counted);

}  // namespace scanloom::passes
