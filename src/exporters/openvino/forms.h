// The table of operators that an IR can hold, and how each is written.
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
  /// Of the plain forms: the layer that has the same operands and no attributes.
  std::string_view layer = {};
  int opset = 0;
  /// What keeps the operator out of an IR.
  std::string_view reason = {};
};

/// nullptr: the operator has no form.
const Form* find_form(const ir::OpDef& op);

}  // namespace scanloom::exporters::openvino
