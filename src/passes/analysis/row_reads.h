// Which rows of a loop's stacked results are read. Recognises nodes that name rows by constants,
// and the last row named by the number of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace scanloom::passes {

/// Rows `first` to `last` of a stack. If both are negative they count from the end, -1 being the
/// last.
struct RowRead {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool has_axis = true;     ///< the result keeps an axis for the rows
  bool backward = false;    ///< a slice with a negative step: its first element is row `last`
  bool from_front = false;  ///< the node names rows from the front, so it reads the same rows of a
                            ///< shorter stack
};

/// Maps each value that a node of one region makes to the nodes that read it.
class Readers {
 public:
  Readers(const ir::Module& module, ir::RegionId region);

  /// Returns the readers, each once; nullopt if the value is yielded.
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

/// A value and the axis of it that holds the rows.
struct RowsOf {
  ir::ValueId value;
  std::int64_t axis = 0;
};

/// Returns which rows of a stack a node reads along its axis: a gather, or a slice along that axis
/// alone, with a positive or negative step. `rows`: how many there are, at least 1, if that is
/// known. If not, all bounds must count from the same end, and the stack may have fewer rows than
/// are named. A gather whose index is the size of the axis minus 1, or that of `origin`, which has
/// as many rows, reads the last row. nullopt: any other node, rows that are not known, or an error.
std::optional<RowRead> row_read(const ir::Module& module, const ir::Node& reader, RowsOf stack,
                                RowsOf origin, std::optional<std::int64_t> rows);

}  // namespace scanloom::passes
