// Loop nodes of a graph: making them from a body, adding stacks, and reading the last row.
#pragma once

#include <string>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// A loop to be made. The body's arguments and yields, and the operands, are in the order of
/// ir/loop_ports.h. Yields may read values from outside the body: these become captured operands,
/// after the `ports.captured` ones that are given.
struct LoopSpec {
  LoopFacts facts;
  std::vector<Expr> operands;
  std::vector<Expr> args, yields;
  std::string location;
  std::vector<Expr> built_of = {};  ///< what else it was made of
};

/// Returns the results of the loop. Errors, held by all results: states whose element type or rank
/// changes, impossible stacks and slices.
[[nodiscard]] std::vector<Expr> make_loop(LoopSpec spec);

/// The same, except that values which only branch regions of the body read, and which may fail, are
/// computed inside these regions: they are no operands.
[[nodiscard]] std::vector<Expr> make_lazy_loop(LoopSpec spec);

/// For rows that are the states of a loop: returns the state after the last step. It keeps no other
/// row, and exists even after no steps. Undefined for anything else.
[[nodiscard]] Expr last_state(const Expr& x);

/// Returns a result that stacks `value`, an expression of the loop's body: an existing one or a new
/// one.
[[nodiscard]] Expr stacked_in(const NodePtr& loop, const Expr& value);

/// Returns how many steps the loop takes, as a scalar i64.
[[nodiscard]] Expr steps_of(const NodePtr& loop);

}  // namespace scanloom::expr
