// Whether the operands and attributes of a node are those that its OpDef asks for.
#pragma once

#include <span>

#include "ir/op_def.h"

namespace scanloom::ir {

/// Whether an operand of that type is one that `accept` allows.
bool accepts(Accept accept, const tensor::Type& type);

/// types[i] is null for an absent operand; `attrs` stand in the OpDef's order. Errors:
/// invalid_model, naming operand or attribute, not the node.
Expected<void> check_signature(const OpDef& op, std::span<const tensor::Type* const> types,
                               std::span<const tensor::Attr> attrs, const tensor::DimTable& dims);

}  // namespace scanloom::ir
