// What loops of an expression do to the shared variables that they update.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "expr/node.h"
#include "expr/region_assignment.h"
#include "expr/substitute.h"

namespace scanloom::expr {

/// Whether only loops read the variable, and all of them update it.
[[nodiscard]] bool only_loops_update(std::span<const Expr> outputs, const Expr& variable);

/// The values that loops of a step give to variables, including loops in branch regions. A branch
/// gets a further result for it: a new branch replaces it, since others may use the original.
class LoopUpdates {
 public:
  /// Returns the value of a variable after the loops that update it; undefined if none does, or if
  /// anything else reads it. If several update it, one inside a branch is preferred to one that
  /// always runs, and the younger one wins. For random streams it is the one that has drawn most,
  /// so that no sample is drawn twice. `made_of` maps nodes that substitution made to what they
  /// were made of, which is what the value reads. The value must be passed to settled(), with
  /// everything computed alongside.
  [[nodiscard]] Expr after(std::span<const Expr> outputs, const Expr& variable,
                           const Replacements& made_of);
  /// Returns the expressions with the new branches. `kept` maps what stays as it is to itself.
  [[nodiscard]] std::vector<Expr> settled(const std::vector<Expr>& xs, Replacements kept) const;

 private:
  struct ById {
    bool operator()(const NodePtr& a, const NodePtr& b) const { return a->id < b->id; }
  };
  /// For a branch: placeholders for further results, and their values in either region.
  struct Further {
    std::vector<Expr> results, sides[2];
  };

  /// The value that loops give to a variable in some region, and whether they do.
  struct Updated {
    Expr value;    ///< undefined: no update
    Expr whether;  ///< undefined: always
    [[nodiscard]] bool is_certain() const { return !whether.defined(); }
  };
  /// By region: the loops that update the variable, and the branches that contain such loops,
  /// oldest first, with the number of their first region.
  struct Gathered {
    Expr variable;
    bool counts = false;  ///< a random stream
    std::map<AssignedRegion, std::vector<Expr>> loops;
    std::map<AssignedRegion, std::map<NodePtr, AssignedRegion, ById>> branches;
  };

  Updated updated_in(AssignedRegion region, const Gathered& all);
  Updated result_of(const NodePtr& branch, AssignedRegion then, const Gathered& all);

  std::map<NodePtr, Further, ById> further_;
};

}  // namespace scanloom::expr
