// Einsum of any number of operands, as products of two.
#pragma once

#include <string>
#include <vector>

#include "ops/composer.h"

namespace scanloom::ops {

/// Returns the sum of products of the equation, as ONNX Einsum: without "->" the result has the
/// letters that occur once, in alphabetic order. Operands are multiplied from left to right; a
/// single one by the number 1. Error: the equation has another number of operands.
ir::ValueId einsum(Composer& c, const std::vector<ir::ValueId>& operands, std::string equation);

}  // namespace scanloom::ops
