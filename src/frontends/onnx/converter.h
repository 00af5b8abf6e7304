// The table of supported ONNX operators: how many operands each takes, in which versions it
// changed, and the function that turns a node into IR. The entries are in list.inc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

/// Sets every output that is used, or opens the node.
using ConvertFn = Expected<void> (*)(NodeCtx&);

struct Converter {
  std::string_view op_type, domain;
  ConvertFn convert = nullptr;
  int min_inputs = 0;
  int max_inputs = 0;             ///< -1: any number
  int max_outputs = 0;            ///< -1: any number
  std::span<const int> versions;  ///< of the operator, in ascending order

  /// Returns the operator version that operator set `opset` uses: the newest one not above it.
  [[nodiscard]] int since(std::int64_t opset) const;
};

/// Returns nullptr for an unknown operator.
const Converter* find_converter(std::string_view domain, std::string_view op_type);
std::span<const Converter> all_converters();

}  // namespace scanloom::onnx
