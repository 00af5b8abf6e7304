// The shared variables that the steps of a scan change.
#pragma once

#include <scanloom/scan.h>

#include <vector>

#include "base/expected.h"
#include "expr/loop_updates.h"
#include "expr/substitute.h"

namespace scanloom::expr {

/// Makes states of the shared variables that a step names, and of those with a default update,
/// such as the keys of random streams. Inside the step, these variables and the captured values are
/// leaves.
class ScanUpdates {
 public:
  explicit ScanUpdates(const ScanOptions& options) : options_(options) {}

  /// Adds the updates that the step does not name, and makes an argument for each. Called once.
  /// Errors: two updates of one variable, next values of another type, variables that `strict`
  /// forbids.
  Expected<void> add_to(Step& step);

  /// The arguments of the loop's body, by update of the step.
  [[nodiscard]] const std::vector<Expr>& args() const { return args_; }
  /// Returns results of the step as the loop's body computes them: reading the arguments instead of
  /// variables, and captured values from outside.
  [[nodiscard]] std::vector<Expr> in_body(const std::vector<Expr>& results);

 private:
  void hide(const Expr& value);
  [[nodiscard]] std::vector<Expr> without_captured(const Step& step, Replacements& made_of);
  Expected<void> add_default_updates(Step& step, const std::vector<Expr>& results,
                                     const Replacements& made_of, LoopUpdates& inner) const;
  [[nodiscard]] bool is_passed(const Expr& variable) const;
  void settle(Step& step, const LoopUpdates& inner) const;

  const ScanOptions& options_;
  std::vector<Expr> args_;
  Replacements hidden_;  ///< from captured values and updated variables to leaves
  Replacements leaves_;  ///< from the leaves to the captured values
};

}  // namespace scanloom::expr
