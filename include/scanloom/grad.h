// Gradients of expressions, as expressions: of any order, through loops, branches, random numbers
// and shared variables.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <scanloom/expr.h>

namespace scanloom {

struct GradOptions {
  /// Treated as constants: nothing flows back through them.
  std::vector<Expr> constants = {};
  /// Gradients of the cost with respect to these expressions, if known; the cost itself may then be
  /// undefined.
  std::vector<std::pair<Expr, Expr>> known = {};
};

/// Returns the gradient of a scalar cost with respect to each of `wrt`, with the type of each.
/// Undefined where the cost does not depend on it. Errors, held by all results: a cost that is not
/// a real scalar; an operator on the way without a gradient, by name.
[[nodiscard]] SCANLOOM_API std::vector<Expr> gradients(const Expr& cost,
                                                       const std::vector<Expr>& wrt,
                                                       const GradOptions& options = {});

/// Whether an output reads the elements of x, even if only through operators that are locally
/// constant, such as floor or a comparison. In that case an undefined gradient means zero.
[[nodiscard]] SCANLOOM_API bool depends_on(const std::vector<Expr>& outputs, const Expr& x,
                                           const std::vector<Expr>& constants = {});

/// Zeros like `wrt`: the gradient with respect to a value that no output depends on.
[[nodiscard]] SCANLOOM_API Expr zero_gradient(const std::vector<Expr>& outputs, const Expr& wrt);

/// The gradient of a cost with respect to one expression; zeros if the cost does not depend on it.
[[nodiscard]] SCANLOOM_API Expr grad(const Expr& cost, const Expr& wrt);

/// The transposed Jacobian of the outputs times `cotangents`: one result for each of `wrt`,
/// undefined where no output depends on it.
[[nodiscard]] SCANLOOM_API std::vector<Expr> pull_back(const std::vector<Expr>& outputs,
                                                       const std::vector<Expr>& cotangents,
                                                       const std::vector<Expr>& wrt,
                                                       const GradOptions& options = {});

/// The Jacobian of the outputs times `tangents`, which have the types of `wrt`. A result is
/// undefined where an output depends on none of them.
[[nodiscard]] SCANLOOM_API std::vector<Expr> push_forward(const std::vector<Expr>& outputs,
                                                          const std::vector<Expr>& wrt,
                                                          const std::vector<Expr>& tangents);

/// All derivatives of an expression of rank 0 or 1; if the rank is 1, along a new first axis.
/// Nothing flows back through `constants`.
[[nodiscard]] SCANLOOM_API Expr jacobian(const Expr& expression, const Expr& wrt,
                                         const std::vector<Expr>& constants = {});
/// The second derivatives of a scalar cost with respect to a vector.
[[nodiscard]] SCANLOOM_API Expr hessian(const Expr& cost, const Expr& wrt,
                                        const std::vector<Expr>& constants = {});

}  // namespace scanloom
