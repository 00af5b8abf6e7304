// Gradients of expressions, as expressions: of any order, through loops, branches, draws of random
// numbers and shared variables.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <scanloom/expr.h>

namespace scanloom {

struct GradOptions {
  /// Taken as constants: nothing flows back through them.
  std::vector<Expr> constants = {};
  /// Gradients of the cost with respect to these are given: the cost itself may then be undefined.
  std::vector<std::pair<Expr, Expr>> known = {};
};

/// The gradients of a scalar cost with respect to each of `wrt`, of their types. Undefined where
/// the cost does not depend on it. Errors, held by all results: a cost that is no scalar of reals;
/// an operator on the way that has no gradient, by name.
[[nodiscard]] SCANLOOM_API std::vector<Expr> gradients(const Expr& cost,
                                                       const std::vector<Expr>& wrt,
                                                       const GradOptions& options = {});

/// Whether an output reads the elements of x, if only by operators that do not change where x
/// changes a little, such as floor or a comparison: its gradient is zero then, where it is
/// undefined.
[[nodiscard]] SCANLOOM_API bool depends_on(const std::vector<Expr>& outputs, const Expr& x,
                                           const std::vector<Expr>& constants = {});

/// The gradient with respect to what no output depends on: zeros like it.
[[nodiscard]] SCANLOOM_API Expr zero_gradient(const std::vector<Expr>& outputs, const Expr& wrt);

/// The gradient of a cost with respect to one; zeros where the cost does not depend on it.
[[nodiscard]] SCANLOOM_API Expr grad(const Expr& cost, const Expr& wrt);

/// The transposed Jacobian of outputs times `cotangents`: one row vector for each of `wrt`.
/// Undefined where no output depends on it.
[[nodiscard]] SCANLOOM_API std::vector<Expr> pull_back(const std::vector<Expr>& outputs,
                                                       const std::vector<Expr>& cotangents,
                                                       const std::vector<Expr>& wrt,
                                                       const GradOptions& options = {});

/// The Jacobian of outputs times `tangents`, one of the type of each of `wrt`. Undefined where an
/// output depends on none of them.
[[nodiscard]] SCANLOOM_API std::vector<Expr> push_forward(const std::vector<Expr>& outputs,
                                                          const std::vector<Expr>& wrt,
                                                          const std::vector<Expr>& tangents);

/// All derivatives of an expression of rank 0 or 1, along a new first axis if it has one.
/// Nothing flows back through `constants`.
[[nodiscard]] SCANLOOM_API Expr jacobian(const Expr& expression, const Expr& wrt,
                                         const std::vector<Expr>& constants = {});
/// The second derivatives of a scalar cost with respect to a vector.
[[nodiscard]] SCANLOOM_API Expr hessian(const Expr& cost, const Expr& wrt,
                                        const std::vector<Expr>& constants = {});

}  // namespace scanloom
