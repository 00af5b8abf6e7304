// The table of ONNX operators that can be read: how many operands each takes, in which versions it
// changed, and the function that turns a node into IR. list.inc is the list.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

/// Sets every output that the node wants, or opens the node.
using ConvertFn = Expected<void> (*)(NodeCtx&);

struct Converter {
  std::string_view op_type, domain;
  ConvertFn convert = nullptr;
  int min_inputs = 0;
  int max_inputs = 0;             ///< -1: any number
  int max_outputs = 0;            ///< -1: any number
  std::span<const int> versions;  ///< of the operator, ascending

  /// The version of the operator in that version of its operator set: the newest that is not newer.
  [[nodiscard]] int since(std::int64_t opset) const;
};

/// nullptr for an operator that is not known.
const Converter* find_converter(std::string_view domain, std::string_view op_type);
std::span<const Converter> all_converters();

}  // namespace scanloom::onnx
