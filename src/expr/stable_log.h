// Logarithms of what is made of sigmoids, softmaxes and exponentials: a logarithm distributes over
// products, quotients, powers, joins, choices and moves of elements; of a sum it is a log_sum_exp.
#pragma once

#include "expr/node.h"

namespace scanloom::expr {

/// Of log(x), and of log(1 + x). Without a value: no operand gains by it.
[[nodiscard]] StableForm stable_log(const Expr& x);
[[nodiscard]] StableForm stable_log1p(const Expr& x);

}  // namespace scanloom::expr
