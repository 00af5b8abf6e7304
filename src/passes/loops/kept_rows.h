// Finds stacks of which only the rows of the last steps are read, by whom, and how many rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "passes/analysis/row_reads.h"
#include "passes/lifting/step_axes.h"

namespace scanloom::passes {

/// A node that picks rows of a stack, or of the values that nodes compute from each of its rows.
struct RowReader {
  ir::NodeId node;
  RowRead rows;
  std::int64_t back = 0;  ///< it reads rows of this many last steps
  bool of_stack = true;
};

/// The last `count` rows of a stack, and everything that reads it.
struct KeptRows {
  std::size_t stacked = 0;
  std::int64_t count = 0;
  std::vector<RowReader> readers;
  std::vector<ir::NodeId> sizes;  ///< nodes that read the sizes of the stack, such as the number of
                                  ///< rows
  std::vector<ir::NodeId> along;  ///< nodes that read all rows of the stack and make equally many
  std::vector<std::pair<ir::ValueId, int>> made;  ///< values with equally many rows, and the axis
                                                  ///< of these
};

/// Looks at the loops of one region.
class KeptRowsFinder {
 public:
  /// `uses`: by ValueId, of the whole module.
  KeptRowsFinder(ir::Module& module, ir::RegionId region, const std::vector<std::uint32_t>& uses);

  /// Returns the rows of a stacked result that a loop may carry instead; nullopt: other rows of the
  /// stack are read, or the stack is cheaper.
  [[nodiscard]] std::optional<KeptRows> find(ir::NodeId loop, std::size_t stacked) const;

 private:
  [[nodiscard]] std::optional<KeptRows> readers_of(const ir::Node& loop, std::size_t stacked,
                                                   std::optional<std::int64_t> rows) const;
  [[nodiscard]] std::optional<int> axis_after(const ir::Node& node,
                                              const std::map<ir::ValueId, int>& axes,
                                              ir::ValueId stack) const;
  [[nodiscard]] const ir::Type& row_type(const ir::Node& loop, std::size_t stacked) const;
  [[nodiscard]] ir::ValueId row_of(const ir::Node& loop, std::size_t stacked) const;
  [[nodiscard]] bool rows_fit(const ir::Node& loop, std::size_t stacked) const;
  [[nodiscard]] bool is_carried(const ir::Node& loop, std::size_t stacked) const;

  ir::Module& module_;
  const ir::RegionId region_;
  const std::vector<std::uint32_t>& uses_;
  const Readers readers_;
  std::unordered_map<std::uint32_t, std::size_t> positions_;  ///< of the nodes in the region
  mutable std::vector<StepFlow> flows_;  ///< by ValueId; between uses, none is along the rows
};

}  // namespace scanloom::passes
