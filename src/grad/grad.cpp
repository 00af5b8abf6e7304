#include <scanloom/grad.h>

#include <algorithm>

#include "expr/apply.h"
#include "expr/loop.h"
#include "expr/types.h"
#include "grad/reverse.h"
#include "ops/ops.h"

namespace scanloom {
namespace {

std::vector<Expr> all_failed(std::size_t count, Error error) {
  return std::vector(count, expr::failed(std::move(error)));
}

/// Returns the first that is missing or holds an error, as an expression that holds one; undefined
/// if there is none.
Expr first_bad(std::initializer_list<std::span<const Expr>> lists) {
  for (const auto& list : lists)
    for (const Expr& x : list)
      if (Expr bad = expr::unusable(x); bad.defined()) return bad;
  return {};
}

/// Records what the gradients were built from: the gradient of x * y with respect to x is y itself.
std::vector<Expr> built_from(const std::vector<std::span<const Expr>>& lists,
                             std::vector<Expr> results) {
  std::vector<Expr> parts;
  std::uint64_t newest = 0;
  for (const auto& list : lists)
    for (const Expr& x : list) {
      parts.push_back(x);
      newest = std::max(newest, x.node()->id);
    }
  for (Expr& x : results) {
    if (!x.defined() || x.error() != nullptr) continue;
    // An older node has readers for which this does not apply.
    if (x.node()->id <= newest) x = expr::apply(ops::identity_op, {x});
    x = expr::built_of(x, parts);
    parts = {x};  // stands for all of them
  }
  return results;
}

/// Converts a cotangent to the type of its value.
Expr fitted(const Expr& x, const Expr& cotangent) { return cast(cotangent, x.dtype()); }

/// Zeros if the cost does not depend on it.
Expr full_gradient(const Expr& cost, const Expr& wrt, const std::vector<Expr>& constants) {
  for (const Expr* x : {&cost, &wrt})
    if (Expr bad = expr::unusable(*x); bad.defined()) return bad;
  const GradOptions options{.constants = constants, .known = {}};
  const Expr result = gradients(cost, {wrt}, options).front();
  return result.defined() ? result : zero_gradient({cost}, wrt);
}

}  // namespace

std::vector<Expr> pull_back(const std::vector<Expr>& outputs, const std::vector<Expr>& cotangents,
                            const std::vector<Expr>& wrt, const GradOptions& options) {
  if (Expr bad = first_bad({outputs, cotangents, wrt, options.constants}); bad.defined())
    return std::vector(wrt.size(), bad);
  if (outputs.size() != cotangents.size())
    return all_failed(wrt.size(), fail(Code::invalid_argument, "{} outputs, but {} cotangents",
                                       outputs.size(), cotangents.size()));
  std::vector<Expr> roots = outputs, seeds;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (cotangents[i].rank() != outputs[i].rank())
      return all_failed(wrt.size(),
                        fail(Code::invalid_argument, "{} has {} axes, but its cotangent has {}",
                             expr::describe(outputs[i]), outputs[i].rank(), cotangents[i].rank()));
    seeds.push_back(fitted(outputs[i], cotangents[i]));
  }
  for (const auto& [x, cotangent] : options.known) {
    roots.push_back(x);
    seeds.push_back(fitted(x, cotangent));
  }
  if (Expr bad = first_bad({roots, seeds}); bad.defined()) return std::vector(wrt.size(), bad);
  std::vector<Expr> known;
  for (const auto& [x, cotangent] : options.known) known.push_back(x);
  auto pulled = autodiff::pulled_back(roots, seeds, wrt, options.constants, known);
  if (!pulled) return all_failed(wrt.size(), std::move(pulled).error());
  return built_from({roots, seeds, wrt}, *std::move(pulled));
}

std::vector<Expr> gradients(const Expr& cost, const std::vector<Expr>& wrt,
                            const GradOptions& options) {
  if (!cost.defined() && options.known.empty())
    return std::vector(wrt.size(), expr::unusable(cost));
  if (!cost.defined()) return pull_back({}, {}, wrt, options);
  if (cost.error() != nullptr) return std::vector(wrt.size(), cost);
  if (cost.rank() != 0)
    return all_failed(wrt.size(), fail(Code::invalid_argument,
                                       "the cost, {}, has {} axes, but must be a scalar: sum it",
                                       expr::describe(cost), cost.rank()));
  if (!is_floating_point(cost.dtype()))
    return all_failed(wrt.size(),
                      fail(Code::invalid_argument, "the cost, {}, is {}, which has no gradient; {}",
                           expr::describe(cost), dtype_name(cost.dtype()),
                           expr::is_complex(cost.dtype()) ? "take real(x), imag(x) or abs(x) of it"
                                                          : "cast it to f64"));
  for (const Expr& x : wrt)
    if (x.defined() && x.error() == nullptr && !is_floating_point(x.dtype()) &&
        !expr::is_complex(x.dtype()))
      return all_failed(wrt.size(),
                        fail(Code::invalid_argument,
                             "{} is {}: gradients are taken with respect to floating-point and "
                             "complex variables; make it f64, "
                             "or cast it to f64 and take the gradient with respect to that",
                             expr::describe(x), dtype_name(x.dtype())));
  return pull_back({cost}, {number(1, cost.dtype())}, wrt, options);
}

Expr zero_gradient(const std::vector<Expr>& outputs, const Expr& wrt) {
  return expr::built_of(zeros_like(wrt), outputs);
}

Expr grad(const Expr& cost, const Expr& wrt) { return full_gradient(cost, wrt, {}); }

/// The transposed Jacobian is linear in the cotangents, and its own transpose is the Jacobian.
std::vector<Expr> push_forward(const std::vector<Expr>& outputs, const std::vector<Expr>& wrt,
                               const std::vector<Expr>& tangents) {
  if (Expr bad = first_bad({outputs, wrt, tangents}); bad.defined())
    return std::vector(outputs.size(), bad);
  if (wrt.size() != tangents.size())
    return all_failed(outputs.size(), fail(Code::invalid_argument, "{} variables, but {} tangents",
                                           wrt.size(), tangents.size()));
  std::vector<Expr> cotangents, rows, seeds;
  std::vector<std::pair<Expr, Expr>> zeros;
  for (const Expr& y : outputs) {
    cotangents.push_back(expr::placeholder(expr::type_of(y)));
    zeros.emplace_back(cotangents.back(), zeros_like(y));
  }
  const std::vector<Expr> pulled = pull_back(outputs, cotangents, wrt);
  if (const Expr* bad = expr::first_failed(pulled)) return std::vector(outputs.size(), *bad);
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    if (!pulled[i].defined()) continue;
    rows.push_back(pulled[i]);
    seeds.push_back(tangents[i]);
  }
  std::vector<Expr> pushed = pull_back(rows, seeds, cotangents);
  for (Expr& x : pushed)
    if (x.defined()) x = substitute({x}, zeros).front();
  return pushed;
}

Expr jacobian(const Expr& expression, const Expr& wrt, const std::vector<Expr>& constants) {
  for (const Expr* x : {&expression, &wrt})
    if (Expr bad = expr::unusable(*x); bad.defined()) return bad;
  if (expression.rank() == 0) return full_gradient(expression, wrt, constants);
  if (expression.rank() != 1)
    return expr::failed(fail(Code::invalid_argument,
                             "the Jacobian of {}, which has {} axes, but must have 1: flatten it",
                             expr::describe(expression), expression.rank()));
  // A loop of its own instead of a scan, which would draw new random samples at every step.
  const Expr count = size(expression, 0), at = expr::placeholder({DType::i64, {}});
  expr::LoopSpec spec;
  spec.location = "jacobian";
  spec.facts.ports.has_trip_count = true;
  spec.facts.ports.fixed_sizes = true;
  spec.facts.ports.scanned = {{}};
  spec.facts.ports.stacked = {{}};
  spec.operands = {count, arange(0, count)};
  spec.args = {at};
  spec.yields = {full_gradient(expression[at], wrt, constants)};
  return expr::make_loop(std::move(spec)).front();
}

Expr hessian(const Expr& cost, const Expr& wrt, const std::vector<Expr>& constants) {
  for (const Expr* x : {&cost, &wrt})
    if (Expr bad = expr::unusable(*x); bad.defined()) return bad;
  if (wrt.rank() != 1)
    return expr::failed(fail(Code::invalid_argument,
                             "the Hessian with respect to {}, which has {} axes, not 1",
                             expr::describe(wrt), wrt.rank()));
  return jacobian(full_gradient(cost, wrt, constants), wrt, constants);
}

}  // namespace scanloom
