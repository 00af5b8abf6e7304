// Loop nodes of a graph: made from a body, asked for more stacks, read by their last row.
#pragma once

#include <string>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// A loop to be made. The body's arguments and yields stand in the order of ir/loop_ports.h, as do
/// the operands. Yields may read values from outside the body: these become captured operands, in
/// front of which `ports.captured` ones are given already.
struct LoopSpec {
  LoopFacts facts;
  std::vector<Expr> operands;
  std::vector<Expr> args, yields;
  std::string location;
  std::vector<Expr> built_of = {};  ///< what it was made of besides
};

/// The results of the loop. Errors: states whose element type or rank changes, stacks and slices
/// that cannot be; held by all results.
[[nodiscard]] std::vector<Expr> make_loop(LoopSpec spec);

/// The same, but what only sides of branches of the body read, and may fail, is computed in these:
/// such values are no operands.
[[nodiscard]] std::vector<Expr> make_lazy_loop(LoopSpec spec);

/// Of rows that are the states of a loop: the state after the last step, which keeps no other row
/// and is there even after no steps. Undefined for anything else.
[[nodiscard]] Expr last_state(const Expr& x);

/// A result that stacks `value`, an expression of the loop's body: one that is there already, or a
/// new one.
[[nodiscard]] Expr stacked_in(const NodePtr& loop, const Expr& value);

/// A scalar i64: how many steps the loop takes.
[[nodiscard]] Expr steps_of(const NodePtr& loop);

}  // namespace scanloom::expr
