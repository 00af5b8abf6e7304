// Operators on complex numbers that exist only in expressions: lowering computes with both parts
// (expr/complex_parts.h), so that no module of the IR contains them.
#pragma once

#include "ir/op_def.h"

namespace scanloom::expr {

extern const ir::OpDef make_complex_op;  ///< from both parts
extern const ir::OpDef real_op;
extern const ir::OpDef imag_op;
extern const ir::OpDef conj_op;
extern const ir::OpDef angle_op;

}  // namespace scanloom::expr
