// Finds the scanned values that can be computed in blocks of steps. Only the loop may read such a
// value, directly or through other such values (a node that only asks for its sizes is no reader),
// and each of its rows must be computed from the same row of others. A row does not depend on how
// many are computed together, so results are the same bits. Used by blocks.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ir/infer.h"
#include "ir/module.h"

namespace scanloom::plan {

/// A value with one row per step, along an axis.
struct RowsOf {
  ir::ValueId value;
  int axis = 0;
};

/// The nodes that compute the rows of one port.
struct RowMakers {
  std::size_t port = 0;
  bool backwards = false;         ///< the last row is the first step's
  std::vector<ir::NodeId> nodes;  ///< in execution order
  std::vector<RowsOf> made;       ///< results, the scanned value first
  std::vector<RowsOf> read;       ///< inputs made by other nodes
  std::int64_t row_bytes = 0;     ///< of all results
  std::int64_t min_steps = 1;     ///< of a block
};

/// The scanned rows of one loop whose nodes are bound with the loop.
struct BlockPlan {
  std::int64_t rows = 0, steps = 0;  ///< in total, per block
  std::vector<RowMakers> ports;      ///< computed in blocks
  /// Computed for all steps before the loop instead of row by row, by a projection that its steps
  /// may compute instead (pipelined_projection.h).
  std::vector<RowMakers> whole;

  [[nodiscard]] bool is_empty() const { return ports.empty() && whole.empty(); }
};

/// Returns ir::count_uses without nodes of the top region that only ask for known sizes.
std::vector<std::uint32_t> uses_of_elements(const ir::Module& module,
                                            const ir::Inference& inference);

/// Returns the plans of the top region's loops that have any, by NodeId. The values must have known
/// sizes. `uses` comes from uses_of_elements.
std::map<std::uint32_t, BlockPlan> find_blocks(const ir::Module& module,
                                               const ir::Inference& inference,
                                               const std::vector<std::uint32_t>& uses);

}  // namespace scanloom::plan
