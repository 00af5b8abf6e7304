// Values of a body that lie in equal parts along an axis: what slices, gathers and concats take
// apart and put together, and what is computed of that element by element. Where every such value
// is split into its parts, the body moves no elements any more.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace scanloom::passes {

/// How a value is split: along the axis that many from the end (1: the last one), so that operands
/// of element-wise nodes agree, into `count` parts of `part` elements of the axis each.
struct Split {
  int from_end = 1;
  std::int64_t part = 1;
  std::int64_t count = 1;

  [[nodiscard]] int axis(int rank) const { return rank - from_end; }
  friend bool operator==(const Split&, const Split&) = default;
};

/// The elements of axis `from_end` that a slice or a gather takes, in their order; nullopt: another
/// node, or one of which that cannot be told.
std::optional<std::vector<std::int64_t>> rows_taken(const ir::Module& module, const ir::Node& node,
                                                    int from_end);

/// The values of a loop's body that must be split, so that it is an element program over equal
/// lanes; empty where it would be none, or where its nodes would be many more than what is saved.
std::map<ir::ValueId, Split> values_in_parts(const ir::Module& module, ir::NodeId loop);

}  // namespace scanloom::passes
