// Operators by name. list.inc is the only list; each operator is defined in its own file.
#pragma once

#include <span>
#include <string_view>

#include "ir/op_def.h"

namespace scanloom::ops {

#define SCANLOOM_OP(name) extern const ir::OpDef name##_op;
#include "ops/list.inc"
#undef SCANLOOM_OP

/// Returns nullptr for an unknown name. Includes ir's loop, branch and constant. An ir::OpTable.
const ir::OpDef* find_op(std::string_view name);
/// Returns all operators in the order of list.inc.
std::span<const ir::OpDef* const> all_ops();

}  // namespace scanloom::ops
