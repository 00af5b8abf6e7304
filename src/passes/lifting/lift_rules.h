// How single operators are lifted; lift.h explains lifting.
#pragma once

#include <optional>
#include <vector>

#include "passes/lifting/lift.h"

namespace scanloom::passes {

/// Whether the node can be lifted, given that its sizes are known. varies[i]: operand i is a
/// sequence.
using CanLift = bool(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies);
/// Appends the nodes that compute the first result. If the last one has the node's operator, its
/// other results are the node's other results.
using LiftNode = Expected<Lifted>(ir::Builder& builder, const ir::Node& node,
                                  const std::vector<Lifted>& operands);

// Operators that only change the axes of their input.
CanLift can_lift_expand, can_lift_reshape, can_lift_slice, can_lift_squeeze, can_lift_transpose,
    can_lift_unsqueeze;
LiftNode lift_expand, lift_reshape, lift_slice, lift_squeeze, lift_transpose, lift_unsqueeze;

// Operators that work along axes of their own.
CanLift can_lift_along_axis, can_lift_arg_min_max, can_lift_cumulative, can_lift_quantization,
    can_lift_reduce, can_lift_topk;
LiftNode lift_along_axis, lift_arg_min_max, lift_cumulative, lift_reduce;

// Operators that move elements.
CanLift can_lift_concat, can_lift_gather, can_lift_pad, can_lift_tile;
LiftNode lift_concat, lift_gather, lift_pad, lift_tile;

// Operators that work on each element of a batch.
CanLift can_lift_windows;
LiftNode lift_windows;

/// Whether the first operand is the only one that varies.
bool only_first_varies(const std::vector<bool>& varies);
/// Returns the type of an operand.
const ir::Type& type_of(const ir::Module& module, const ir::Node& node, std::size_t operand = 0);
/// Returns the elements of a constant operand; nullopt for other operands.
std::optional<std::vector<std::int64_t>> integers_of(const ir::Module& module, const ir::Node& node,
                                                     std::size_t operand);
/// Returns the attribute `axis` as an axis of the first operand in [0, rank); nullopt if it is
/// outside.
std::optional<int> axis_of(const ir::Module& module, const ir::Node& node);
/// Returns all attributes that are present, except the one of that name.
std::vector<ir::NamedAttr> attrs_but(const ir::Node& node, std::string_view left_out = "");
ir::ValueId list_of(ir::Builder& builder, const std::vector<std::int64_t>& integers);
/// Moves the steps to axis 0.
Expected<Lifted> at_front(ir::Builder& builder, const Lifted& sequence);
/// Inserts `count` axes of size 1, the first of them at `first`.
Expected<ir::ValueId> with_axes_of_1(ir::Builder& builder, ir::ValueId value, int first, int count);

}  // namespace scanloom::passes
