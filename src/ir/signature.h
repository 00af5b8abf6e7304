// Checks the operands and attributes of a node against its OpDef.
#pragma once

#include <span>

#include "ir/op_def.h"

namespace scanloom::ir {

/// Whether `accept` allows an operand of this type.
bool accepts(Accept accept, const tensor::Type& type);

/// types[i] is null for an absent operand; `attrs` are in the OpDef's order. Errors: invalid_model,
/// naming the operand or attribute but not the node.
Expected<void> check_signature(const OpDef& op, std::span<const tensor::Type* const> types,
                               std::span<const tensor::Attr> attrs, const tensor::DimTable& dims);

}  // namespace scanloom::ir
