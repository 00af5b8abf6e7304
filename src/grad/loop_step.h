// The step of a loop, reversed: from the cotangents of what a step yields to those of what it
// reads.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/expected.h"
#include "expr/node.h"
#include "expr/substitute.h"
#include "grad/rules.h"

namespace scanloom::autodiff {

class StepReverse {
 public:
  /// `pull` is of a loop node.
  explicit StepReverse(const Pull& pull);

  /// Finds the values that have cotangents and reverses the step. Called once, before the other
  /// functions. Error: an operator without a rule in the step.
  std::optional<Error> run();

  /// Whether the state has a cotangent: the results or other steps pass one on to it.
  [[nodiscard]] bool has_cotangent(std::size_t state) const { return has_cotangent_[state]; }
  /// Placeholders for the cotangents of a step's yields: of the states that have one, then of the
  /// rows that have one.
  [[nodiscard]] const std::vector<Expr>& cotangents() const { return cotangents_; }
  /// Returns the cotangent of an argument of the body, computed from these placeholders and the
  /// values of the forward step; undefined: zero.
  [[nodiscard]] Expr pulled(const Expr& arg) const;

 private:
  [[nodiscard]] const Expr& arg_of_state(std::size_t i) const {
    return body_.args[ports_.captured + i];
  }
  [[nodiscard]] bool is_active(const Expr& arg) const;
  void find_active();
  void find_states();
  [[nodiscard]] std::vector<Expr> roots() const;

  const Pull& pull_;
  const expr::Body& body_;
  const ir::LoopPorts& ports_;
  std::vector<Expr> active_;         ///< arguments of the body that change with what is wanted
  std::vector<bool> has_cotangent_;  ///< by state
  std::vector<Expr> cotangents_;
  std::map<expr::ExprKey, Expr> pulled_;
};

}  // namespace scanloom::autodiff
