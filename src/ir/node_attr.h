// Finds a node's attributes by name. Used by passes and exporters.
#pragma once

#include <cstddef>
#include <string_view>

#include "ir/module.h"
#include "ir/op_def.h"

namespace scanloom::ir {

/// Precondition: the operator declares the attribute.
inline const Attr& attr_of(const Node& node, std::string_view name) {
  return node.attrs[static_cast<std::size_t>(node.op->attr_index(name))];
}

}  // namespace scanloom::ir
