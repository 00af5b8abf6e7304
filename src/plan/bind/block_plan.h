// Which values that a loop scans are made in blocks of steps: those that exist only to be scanned
// by this loop, or for such (who asks for sizes alone is no reader), and each of whose rows is made
// of the same row of others. Rows do not depend on how many are made at a time, so neither do bits.
// Used by blocks.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ir/infer.h"
#include "ir/module.h"

namespace scanloom::plan {

/// A value that has the steps along an axis.
struct RowsOf {
  ir::ValueId value;
  int axis = 0;
};

/// The nodes that make the rows of one port.
struct RowMakers {
  std::size_t port = 0;
  bool backwards = false;         ///< the last row is the first step's
  std::vector<ir::NodeId> nodes;  ///< in their order
  std::vector<RowsOf> made;       ///< the scanned value first
  std::vector<RowsOf> read;       ///< made by others
  std::int64_t row_bytes = 0;     ///< of what is made
  std::int64_t min_steps = 1;     ///< of a block
};

/// All of one loop.
struct BlockPlan {
  std::int64_t rows = 0, steps = 0;  ///< in all, of a block
  std::vector<RowMakers> ports;
};

/// ir::count_uses, except that nodes of the top region that only ask for known sizes do not count.
std::vector<std::uint32_t> uses_of_elements(const ir::Module& module,
                                            const ir::Inference& inference);

/// Returns the plans of those loops of the top region that have such values, by NodeId. The sizes
/// of the values must be known. `uses` is the result of uses_of_elements.
std::map<std::uint32_t, BlockPlan> find_blocks(const ir::Module& module,
                                               const ir::Inference& inference,
                                               const std::vector<std::uint32_t>& uses);

}  // namespace scanloom::plan
