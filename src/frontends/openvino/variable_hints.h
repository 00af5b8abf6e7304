// What a document says of a variable in addition to the attributes of its ReadValue and Assign:
// first values that are constants, ports, and layers whose operands share their element type. Only
// where those attributes leave the type open.
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
  std::size_t layer = 0;  ///< position
};

struct VariableHints {
  std::optional<DType> dtype;
  std::optional<std::vector<std::int64_t>> sizes;  ///< -1: open
};

/// Returns what is said around the ReadValues and Assigns of a variable. The nearest layer that
/// says something counts. Linear in the graphs that hold them.
[[nodiscard]] VariableHints hints_around(const Document& document,
                                         std::span<const LayerPosition> layers);

}  // namespace scanloom::openvino
