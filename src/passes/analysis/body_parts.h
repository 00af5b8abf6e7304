// Values of a body that consist of equal parts along an axis: slices, gathers and concats take them
// apart and put them together, element-wise nodes compute on them. Once each of these values is
// split into its parts, the body no longer moves elements.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace scanloom::passes {

/// How a value is split: along one axis into `count` parts of `part` elements each. The axis is
/// counted from the end (1: the last one), so that operands of element-wise nodes agree.
struct Split {
  int from_end = 1;
  std::int64_t part = 1;
  std::int64_t count = 1;

  [[nodiscard]] int axis(int rank) const { return rank - from_end; }
  friend bool operator==(const Split&, const Split&) = default;
};

/// Returns which elements along axis `from_end` a slice or a gather takes, in its order. nullopt:
/// another node, or one whose elements are not known.
std::optional<std::vector<std::int64_t>> rows_taken(const ir::Module& module, const ir::Node& node,
                                                    int from_end);

/// Returns the values of a loop's body that must be split to make it an element program over equal
/// lanes. Empty if that is impossible, or if it would add many more nodes than it saves.
std::map<ir::ValueId, Split> values_in_parts(const ir::Module& module, ir::NodeId loop);

}  // namespace scanloom::passes
