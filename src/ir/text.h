// Words for operators of nodes, in the text form and in messages.
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

/// Describes a node of this operator that has no name: "an add node".
[[nodiscard]] std::string described_node(std::string_view op);

/// The label before region `index` of a node of this operator: body, then, else.
[[nodiscard]] std::string_view region_label(const OpDef* op, std::size_t index);

}  // namespace scanloom::ir::text
