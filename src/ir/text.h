// Words of the text form and of messages that depend on the operator of a node.
#pragma once

#include <string>
#include <string_view>

#include "tensor/text.h"

namespace scanloom::ir {
struct OpDef;
}

namespace scanloom::ir::text {

using tensor::text::append_element;
using tensor::text::append_quoted;
using tensor::text::read_element;

/// What a node of that operator is called where it has no name: "an add node".
[[nodiscard]] std::string described_node(std::string_view op);

/// What stands before region `index` of a node of that operator: body, then, else.
[[nodiscard]] std::string_view region_label(const OpDef* op, std::size_t index);

}  // namespace scanloom::ir::text
