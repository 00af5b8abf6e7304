// Turns graphs with complex values into graphs of their real and imaginary parts. Leaves stay
// complex and are read as pairs of real numbers; results are put together at the end. Loops and
// branches carry both parts of a complex value as adjacent ports. expr/complex_rules.h handles
// operators.
#pragma once

#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// Returns the same values, in which only `bit_cast` involves complex numbers. Bodies of loops stay
/// as they are, except for their ports. Outputs that reach no complex number are shared.
[[nodiscard]] std::vector<Expr> with_real_parts(const std::vector<Expr>& outputs);

}  // namespace scanloom::expr
