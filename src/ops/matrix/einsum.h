// An einsum of any number of operands, as products of two.
#pragma once

#include <string>
#include <vector>

#include "ops/composer.h"

namespace scanloom::ops {

/// The sum of products that the equation names, as ONNX Einsum: without "->" the result has the
/// letters that stand once, in alphabetic order; several operands are multiplied from the first one
/// on, a single one by the number 1. Error: the equation names another number of operands.
ir::ValueId einsum(Composer& c, const std::vector<ir::ValueId>& operands, std::string equation);

}  // namespace scanloom::ops
