// The nodes of a tree model by the numbers of tree and node that name them. Nearly all models list
// their trees one after the other with nodes numbered from 0, so a name is found without searching.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/expected.h"

namespace scanloom::onnx {

class TreeNodeTable {
 public:
  struct Row {
    std::int64_t tree = 0, id = 0;
    std::int64_t branch = 0;  ///< of TreeModel
    bool has_parent = false;
  };

  /// Takes rows in any order. Error: two of the same name.
  static Expected<TreeNodeTable> of(std::vector<Row> rows) {
    const auto before = [](const Row& a, const Row& b) {
      return a.tree != b.tree ? a.tree < b.tree : a.id < b.id;
    };
    if (!std::ranges::is_sorted(rows, before)) std::ranges::sort(rows, before);
    for (std::size_t i = 1; i < rows.size(); ++i)
      if (!before(rows[i - 1], rows[i]))
        return invalid_model("node {} of tree {} is described twice", rows[i].id, rows[i].tree);
    TreeNodeTable table;
    table.rows_ = std::move(rows);
    return table;
  }

  /// Returns the row of a name. Error: there is none.
  Expected<Row*> at(std::int64_t tree, std::int64_t id) {
    if (first_ == last_ || rows_[first_].tree != tree) select(tree);
    if (first_ != last_ && id >= rows_[first_].id) {
      const auto distance =
          static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(rows_[first_].id);
      if (distance < last_ - first_ && rows_[first_ + distance].id == id)
        return &rows_[first_ + distance];
      const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(last_);
      const auto found = std::ranges::lower_bound(
          rows_.begin() + static_cast<std::ptrdiff_t>(first_), end, id, {}, &Row::id);
      if (found != end && found->id == id) return &*found;
    }
    return invalid_model("tree {} has no node {}, which is named as a branch or leaf", tree, id);
  }

 private:
  /// Makes [first_, last_) the rows of a tree. Names come tree by tree.
  void select(std::int64_t tree) {
    const auto [first, last] = std::ranges::equal_range(rows_, tree, {}, &Row::tree);
    first_ = static_cast<std::size_t>(first - rows_.begin());
    last_ = static_cast<std::size_t>(last - rows_.begin());
  }

  std::vector<Row> rows_;
  std::size_t first_ = 0, last_ = 0;
};

}  // namespace scanloom::onnx
