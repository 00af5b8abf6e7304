// Finds where a region reads and writes rows of a tensor, for api/touched_rows.h.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "ir/builder.h"
#include "ir/module.h"

namespace scanloom {

/// A node that reads or writes rows of its first operand, which are named by an index along axis 0.
struct RowAccess {
  ir::NodeId node;
  ir::ValueId rows;  ///< integers of any rank, the indices
};

/// All accesses to one table in one region. Its values there are `base` and those that are made
/// from it by overwriting parts.
struct RegionAccesses {
  std::set<ir::ValueId> tables;  ///< these values, and others that have the same rows
  std::vector<RowAccess> accesses;
  std::vector<ir::NodeId> sizes;  ///< nodes that read only the sizes of tables
  std::set<ir::NodeId> path;      ///< the nodes from the base to the last of its values
  std::vector<ir::NodeId> loops;  ///< those of the path, which carry it
};

/// Finds the accesses to what lies between `base` and `last`, a value of the same region. `is_own`:
/// the base itself is among the tables; otherwise only what is made from it. nullopt: it is read or
/// written in another way. Where the operand holds more than indices of rows, adds nodes that
/// compute these alone, before the access; some of them remain if the result is nullopt.
std::optional<RegionAccesses> isolate_row_indices(ir::Module& module, ir::ValueId base,
                                                  ir::ValueId last, bool is_own);

/// Makes the access use `rows`, of the same shape, instead of its indices.
void set_rows(ir::Module& module, const RowAccess& access, ir::ValueId rows);

/// The values of a loop's body, by id, that depend on any of `values`, also through later steps.
std::set<ir::ValueId> dependent_values(const ir::Module& module, ir::NodeId loop,
                                       const std::set<ir::ValueId>& values);

}  // namespace scanloom
