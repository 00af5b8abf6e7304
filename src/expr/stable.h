// Stable forms: log(softmax(x)), log(1 + exp(x)) and their like overflow or cancel where the number
// that they stand for does neither; the last of the rows that a loop makes of its state is that
// state, for which no row need be kept. Such a node knows another expression for it. What is
// computed, and what is differentiated, is that; the graph stays as it was written, so gradients
// with respect to softmax(x), givens for it and copies of the graph mean what they say. These are
// the rewrites that Theano makes before it runs anything. Models in files keep their operators.
#pragma once

#include <memory>
#include <span>

#include "expr/node.h"

namespace scanloom::expr {

/// That of a node of these operands with a result of this type; nullptr: there is none.
[[nodiscard]] std::unique_ptr<const StableForm> stable_form(const ir::OpDef& op,
                                                            std::span<const Expr> inputs,
                                                            std::span<const tensor::Attr> attrs,
                                                            const StaticType& type);

}  // namespace scanloom::expr
