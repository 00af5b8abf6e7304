// Which instructions are functions of base/math: the costly ones, written out in many operations.
#pragma once

#include "tensor/scalar.h"

namespace scanloom::tensor {

/// Whether `op` is one of them.
constexpr bool is_function(ScalarOp op) {
  switch (op) {
    case ScalarOp::exp:
    case ScalarOp::expm1:
    case ScalarOp::log:
    case ScalarOp::log1p:
    case ScalarOp::tanh:
    case ScalarOp::sigmoid:
    case ScalarOp::softplus:
    case ScalarOp::sin:
    case ScalarOp::cos:
    case ScalarOp::asin:
    case ScalarOp::acos:
    case ScalarOp::atan:
    case ScalarOp::sinh:
    case ScalarOp::cosh:
    case ScalarOp::asinh:
    case ScalarOp::acosh:
    case ScalarOp::atanh:
    case ScalarOp::erf:
    case ScalarOp::pow:
      return true;
    default:
      return false;
  }
}

}  // namespace scanloom::tensor
