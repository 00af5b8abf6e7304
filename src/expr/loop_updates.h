// What loops of an expression make of the shared variables that they update.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "expr/node.h"
#include "expr/region_assignment.h"
#include "expr/substitute.h"

namespace scanloom::expr {

/// Whether loops alone read the variable, all of which update it.
[[nodiscard]] bool only_loops_update(std::span<const Expr> outputs, const Expr& variable);

/// What loops of a step make of variables, also of those in sides of branches, which get a further
/// result for it: not the branches of the step, which others may use, but ones that take their
/// place.
class LoopUpdates {
 public:
  /// The value of a variable after the loops that update it; undefined where none does, or where
  /// something else reads it. Where several update it, one that always runs gives way to those of
  /// branches, the younger one wins; of random streams it is the one that has drawn most, so that
  /// nobody draws the same again. `made_of`: for nodes made anew by substitution what they
  /// were made of, which is what the value reads. It is to be settled, as is all that stands beside
  /// it.
  [[nodiscard]] Expr after(std::span<const Expr> outputs, const Expr& variable,
                           const Replacements& made_of);
  /// The expressions with the new branches. `kept` maps to themselves what stays as it is.
  [[nodiscard]] std::vector<Expr> settled(const std::vector<Expr>& xs, Replacements kept) const;

 private:
  struct ById {
    bool operator()(const NodePtr& a, const NodePtr& b) const { return a->id < b->id; }
  };
  /// Of a branch: placeholders for further results, and what these are in either side.
  struct Further {
    std::vector<Expr> results, sides[2];
  };

  /// What loops make of a variable at some place, and whether they do.
  struct Updated {
    Expr value;    ///< undefined: there is none
    Expr whether;  ///< undefined: in any case
    [[nodiscard]] bool is_certain() const { return !whether.defined(); }
  };
  /// By place the loops that update the variable, and the branches in whose sides there are some,
  /// oldest first, with the place of the first side.
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
