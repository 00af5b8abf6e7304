// The table of operations that can be read: their versions, how many operands each takes, and the
// function that turns a layer into IR. list.inc is the list.
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

  /// The newest version that is not newer than `opset`; 0: the operation is newer than that.
  [[nodiscard]] int since(int opset) const;
};

/// By name, in any case, "Const" being "Constant"; nullptr for an operation that is not known.
const Converter* find_converter(std::string_view type);
std::span<const Converter> all_converters();

}  // namespace scanloom::openvino
