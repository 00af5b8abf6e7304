// What loops of an expression make of the shared variables that they update.
#pragma once

#include <span>

#include "expr/node.h"
#include "expr/substitute.h"

namespace scanloom::expr {

/// Whether loops alone read the variable, all of which update it.
[[nodiscard]] bool only_loops_update(std::span<const Expr> outputs, const Expr& variable);

/// The value of a variable after the loops that update it, in the branches that they lie in;
/// undefined where none does, or where something else reads it, but for random streams: of these,
/// the one that has drawn most, so that nobody draws the same again. Branches may be given a
/// further result for it. `made_of`: for nodes made anew by substitution what they were made of,
/// which is what the value reads.
[[nodiscard]] Expr updated_by_loops(std::span<const Expr> outputs, const Expr& variable,
                                    const Replacements& made_of);

}  // namespace scanloom::expr
