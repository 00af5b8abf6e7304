// Which rows of a loop's stacked results are read, by nodes that name them with constants, or the
// last one by how many there are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace scanloom::passes {

/// Rows `first` to `last` of a stack; both below 0: they count from the back, -1 being the last.
struct RowRead {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool has_axis = true;     ///< what is read has an axis for the rows
  bool backward = false;    ///< a slice in steps back: its first element is row `last`
  bool from_front = false;  ///< the node names rows from the front: it reads the same of fewer rows
};

/// By value that the nodes of one region make: the nodes that read it.
class Readers {
 public:
  Readers(const ir::Module& module, ir::RegionId region);

  /// Each once; nullopt: it is yielded.
  [[nodiscard]] std::optional<std::vector<ir::NodeId>> of(ir::ValueId value) const;

 private:
  struct Entry {
    ir::ValueId value;
    ir::NodeId reader;  ///< invalid: a yield
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  void add(const ir::Module& module, ir::ValueId value, ir::NodeId reader);

  std::vector<Entry> entries_;  // sorted
};

/// Returns what a node reads of a stack of rows along an axis: a gather, or a slice along that axis
/// alone, in steps forward or back. `rows`, at least 1: how many there are, if that is known; if it
/// is not, all bounds must count from the same end, and fewer rows may be there than are named.
/// A gather whose index is the size of the axis less 1 reads the last row. nullopt: other rows, or
/// something else, or an error.
std::optional<RowRead> row_read(const ir::Module& module, const ir::Node& reader, ir::ValueId stack,
                                std::int64_t axis, std::optional<std::int64_t> rows);

}  // namespace scanloom::passes
