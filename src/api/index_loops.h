// Loops that compute, before a loop over a table, the indices of the rows that its steps touch
// (api/touched_rows.h).
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "api/row_accesses.h"
#include "ir/module.h"

namespace scanloom {

/// A loop that carries the table.
struct TableLoop {
  ir::NodeId loop;
  std::size_t carried = 0;  ///< the number of the state
  RegionAccesses body;
  std::vector<ir::ValueId> rows;  ///< the different indices of its accesses
  std::set<ir::ValueId> needed;   ///< the values of the body that these are computed from
};

/// Fills in `needed`. False: indices, or the condition that ends the loop, depend on the table or
/// are expensive to compute twice.
[[nodiscard]] bool find_needed(const ir::Module& module, TableLoop& loop);

/// The loop's operands that its indices depend on: the trip count, then captured values, initial
/// states and sequences.
[[nodiscard]] std::vector<ir::ValueId> needed_inputs(const ir::Module& module,
                                                     const TableLoop& loop);

/// Appends a loop to the top region that computes only the indices; returns those of all steps,
/// stacked along axis 0, for each of `loop.rows`.
std::vector<ir::ValueId> add_index_loop(ir::Module& module, const TableLoop& loop);

}  // namespace scanloom
