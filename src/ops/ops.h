// Every operator by name. list.inc is the one list; each operator is defined in its own file.
#pragma once

#include <span>
#include <string_view>

#include "ir/op_def.h"

namespace scanloom::ops {

#define SCANLOOM_OP(name) extern const ir::OpDef name##_op;
#include "ops/list.inc"
#undef SCANLOOM_OP

/// nullptr where there is none; knows ir's loop, branch and constant too. It is an ir::OpTable.
const ir::OpDef* find_op(std::string_view name);
/// In the order of list.inc.
std::span<const ir::OpDef* const> all_ops();

}  // namespace scanloom::ops
