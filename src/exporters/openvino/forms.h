// The table of operators that an OpenVINO IR can hold, and how each is written.
#pragma once

#include <string_view>

#include "exporters/openvino/node_writer.h"
#include "ir/op_def.h"

namespace scanloom::exporters::openvino {

/// Sets every result of the node, or refuses it.
using WriteFn = void (*)(NodeWriter&);

struct Form {
  const ir::OpDef* op;
  WriteFn write;
  /// For plain forms: the layer with the same operands and no attributes.
  std::string_view layer = {};
  int opset = 0;
  /// Why the operator cannot be written to an IR.
  std::string_view reason = {};
};

/// Returns nullptr if the operator has no form.
const Form* find_form(const ir::OpDef& op);

}  // namespace scanloom::exporters::openvino
