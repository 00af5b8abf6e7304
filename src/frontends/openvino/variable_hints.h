// What a document says about a variable beyond the attributes of its ReadValue and Assign: constant
// initial values, ports, and layers whose operands share their element type. Used only where those
// attributes leave the type open.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <scanloom/dtype.h>

#include "frontends/openvino/document.h"

namespace scanloom::openvino {

/// A layer of a document.
struct LayerPosition {
  GraphIndex graph = 0;
  std::size_t layer = 0;  ///< position in the graph
};

struct VariableHints {
  std::optional<DType> dtype;
  std::optional<std::vector<std::int64_t>> sizes;  ///< -1: open
};

/// Returns what the surroundings of the ReadValues and Assigns of a variable say. The nearest layer
/// that says something wins. Linear in the size of the graphs that hold them.
[[nodiscard]] VariableHints hints_around(const Document& document,
                                         std::span<const LayerPosition> layers);

}  // namespace scanloom::openvino
