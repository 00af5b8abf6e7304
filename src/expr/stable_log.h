// Logarithms of expressions of sigmoids, softmaxes and exponentials. A logarithm distributes over
// products, quotients, powers, joins, choices and moves of elements; that of a sum is a
// log_sum_exp.
#pragma once

#include "expr/node.h"

namespace scanloom::expr {

/// The stable form of log(x), and of log(1 + x). Without a value if no operand gains by it.
[[nodiscard]] StableForm stable_log(const Expr& x);
[[nodiscard]] StableForm stable_log1p(const Expr& x);

}  // namespace scanloom::expr
