// Graphs with complex values as graphs of their real and imaginary parts. Leaves stay complex, and
// are read as pairs of reals; results are put together at the end. Loops and branches carry both
// parts of a complex value side by side. See expr/complex_rules.h for operators.
#pragma once

#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// The same values, in which no operator but `bit_cast` has to do with complex numbers; bodies of
/// loops are left as they are, but for what their ports hold. Outputs that reach none are shared.
[[nodiscard]] std::vector<Expr> with_real_parts(const std::vector<Expr>& outputs);

}  // namespace scanloom::expr
