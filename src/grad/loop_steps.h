// The steps that the gradient of a loop walks back over, and what that means for the loop's
// sequences: slices that no step took, and steps that a truncated gradient does not reach.
#pragma once

#include "expr/node.h"

namespace scanloom::autodiff {

class ReverseSteps {
 public:
  explicit ReverseSteps(const expr::NodePtr& loop);

  /// The number of steps that the gradient reaches, from the last one back.
  [[nodiscard]] const Expr& count() const { return steps_; }
  /// Returns the cotangent of an initial state, given that of the state before the first step that
  /// the gradient reaches: zero if there are steps before it.
  [[nodiscard]] Expr of_initial(const Expr& cotangent) const;

  /// Returns the slices of sequence i that steps took; the sequence itself if those are all.
  [[nodiscard]] Expr slices_taken(std::size_t i) const;
  /// Returns the cotangent of sequence i, given those of the slices of the steps that the gradient
  /// reaches, in order: the other slices have zeros.
  [[nodiscard]] Expr of_sequence(const Expr& rows, std::size_t i) const;

 private:
  [[nodiscard]] const Expr& sequence(std::size_t i) const;
  [[nodiscard]] bool takes_all(std::size_t i) const;
  [[nodiscard]] Expr sized_as_sequence(const Expr& rows, std::size_t i) const;

  const expr::NodePtr& loop_;
  const ir::LoopPorts& ports_;
  Expr all_steps_, steps_;
  bool truncated_ = false;
};

}  // namespace scanloom::autodiff
