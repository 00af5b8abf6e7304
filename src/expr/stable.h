// Stable forms. log(softmax(x)), log(1 + exp(x)) and similar expressions overflow or cancel
// although their value does neither; the last row of a loop's stacked state is the final state, for
// which no rows need be kept. Such a node stores another expression for the same value, which is
// computed and differentiated instead. The graph itself stays as written, so gradients with respect
// to softmax(x), givens for it and copies of the graph keep their meaning. Theano makes the same
// rewrites before it runs. Models in files keep their operators.
#pragma once

#include <memory>
#include <span>

#include "expr/node.h"

namespace scanloom::expr {

/// Returns the stable form of a node with these operands and a result of this type; nullptr if
/// there is none.
[[nodiscard]] std::unique_ptr<const StableForm> stable_form(const ir::OpDef& op,
                                                            std::span<const Expr> inputs,
                                                            std::span<const tensor::Attr> attrs,
                                                            const StaticType& type);

}  // namespace scanloom::expr
