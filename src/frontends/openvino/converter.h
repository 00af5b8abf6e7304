// The table of supported operations: their versions, how many operands each takes, and the function
// that turns a layer into IR. The entries are in list.inc.
#pragma once

#include <span>
#include <string_view>

#include "frontends/openvino/layer_ctx.h"

namespace scanloom::openvino {

/// Sets every output of the layer.
using ConvertFn = Expected<void> (*)(LayerCtx&);

struct Converter {
  std::string_view type;
  ConvertFn convert = nullptr;
  int min_inputs = 0;
  int max_inputs = 0;             ///< -1: any number
  std::span<const int> versions;  ///< the operation sets in which it changed, ascending

  /// Returns the newest version not above `opset`; 0 if the operation is newer.
  [[nodiscard]] int since(int opset) const;
};

/// Looks up a name, ignoring case, with "Const" for "Constant"; nullptr for an unknown operation.
const Converter* find_converter(std::string_view type);
std::span<const Converter> all_converters();

}  // namespace scanloom::openvino
