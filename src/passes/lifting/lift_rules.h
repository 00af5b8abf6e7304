// How single operators are lifted; lift.h says what that is.
#pragma once

#include <optional>
#include <vector>

#include "passes/lifting/lift.h"

namespace scanloom::passes {

/// Whether the node can be lifted, its sizes being known. varies[i]: operand i is a sequence.
using CanLift = bool(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies);
/// Appends what computes the first result; where that is a node of the same operator, its other
/// results are the other ones.
using LiftNode = Expected<Lifted>(ir::Builder& builder, const ir::Node& node,
                                  const std::vector<Lifted>& operands);

// What only gives its input other axes.
CanLift can_lift_expand, can_lift_reshape, can_lift_slice, can_lift_squeeze, can_lift_transpose,
    can_lift_unsqueeze;
LiftNode lift_expand, lift_reshape, lift_slice, lift_squeeze, lift_transpose, lift_unsqueeze;

// What works along axes of its own.
CanLift can_lift_along_axis, can_lift_arg_min_max, can_lift_cumulative, can_lift_quantization,
    can_lift_reduce, can_lift_topk;
LiftNode lift_along_axis, lift_arg_min_max, lift_cumulative, lift_reduce;

// What moves elements.
CanLift can_lift_concat, can_lift_gather, can_lift_pad, can_lift_tile;
LiftNode lift_concat, lift_gather, lift_pad, lift_tile;

// What works on each element of a batch.
CanLift can_lift_windows;
LiftNode lift_windows;

/// Whether the first operand is the only one that varies.
bool only_first_varies(const std::vector<bool>& varies);
/// Of an operand.
const ir::Type& type_of(const ir::Module& module, const ir::Node& node, std::size_t operand = 0);
/// The elements of a constant operand; nullopt for others.
std::optional<std::vector<std::int64_t>> integers_of(const ir::Module& module, const ir::Node& node,
                                                     std::size_t operand);
/// The attribute `axis` in [0, rank) of the first operand; nullopt where it is outside.
std::optional<int> axis_of(const ir::Module& module, const ir::Node& node);
/// All that are there, but for the one of that name.
std::vector<ir::NamedAttr> attrs_but(const ir::Node& node, std::string_view left_out = "");
ir::ValueId list_of(ir::Builder& builder, const std::vector<std::int64_t>& integers);
/// The steps in front of its other axes.
Expected<Lifted> at_front(ir::Builder& builder, const Lifted& sequence);
/// Axes of size 1, the first of them at `first`.
Expected<ir::ValueId> with_axes_of_1(ir::Builder& builder, ir::ValueId value, int first, int count);

}  // namespace scanloom::passes
