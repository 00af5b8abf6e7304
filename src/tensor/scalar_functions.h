// Rough cost classes of instructions: the functions of base/math, which are expensive and take many
// operations, and the divisions.
#pragma once

#include "tensor/scalar.h"

namespace scanloom::tensor {

/// Whether `op` is a function of base/math.
constexpr bool is_function(ScalarOp op) {
  switch (op) {
#define SCANLOOM_MATH_FUNCTION(name) case ScalarOp::name:
#include "base/math/functions.inc"
#undef SCANLOOM_MATH_FUNCTION
    case ScalarOp::pow:
      return true;
    default:
      return false;
  }
}

constexpr bool is_remainder(ScalarOp op) {
  return op == ScalarOp::mod_floor || op == ScalarOp::mod_trunc;
}
constexpr bool divides(ScalarOp op) { return op == ScalarOp::div || is_remainder(op); }

/// Whether the instruction takes many operations: a function, or a floating-point remainder.
constexpr bool is_written_out(const ScalarInstr& instr) {
  return is_function(instr.op) || (is_remainder(instr.op) && is_floating_point(instr.dtype));
}

}  // namespace scanloom::tensor
