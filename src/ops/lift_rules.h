// Rules for lifting (LiftRule in ir/op_def.h) that several operators share, and what the rules of
// operators are written with. A rule is asked only if the sizes of all operands and results are
// known.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/constants.h"
#include "ir/node_attr.h"
#include "ir/step_rules.h"

namespace scanloom::ops {

using LiftedOperands = std::vector<ir::Lifted>;

/// The rule of pointwise operators. The node must not be able to fail, for its sizes or its
/// elements.
bool can_lift_pointwise(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies);
Expected<ir::Lifted> lift_pointwise(ir::Builder& builder, const ir::Node& node,
                                    const LiftedOperands& operands);
/// The rule of operators that work along the axis that the attribute `axis` names.
bool can_lift_along_axis(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies);
Expected<ir::Lifted> lift_along_axis(ir::Builder& builder, const ir::Node& node,
                                     const LiftedOperands& operands);

/// Whether every size of every operand of a pointwise node is that of the result or 1, so that it
/// cannot fail. Precondition: all ranks are known.
bool broadcasts_for_sure(const ir::Module& module, const ir::Node& node);
/// Whether the first operand is the only one that varies.
bool only_first_varies(const std::vector<bool>& varies);
/// Returns the type of an operand.
const ir::Type& type_of(const ir::Module& module, const ir::Node& node, std::size_t operand = 0);
/// Returns the type of result 0.
const ir::Type& result_type(const ir::Module& module, const ir::Node& node);
/// Returns the elements of a constant operand; nullopt for other operands.
std::optional<std::vector<std::int64_t>> integers_of(const ir::Module& module, const ir::Node& node,
                                                     std::size_t operand);
/// Returns the attribute `axis` as an axis of the first operand in [0, rank); nullopt if it is
/// outside.
std::optional<int> attribute_axis(const ir::Module& module, const ir::Node& node);
/// Returns the axes that the attribute `axes` names, in [0, rank), sorted; nullopt if it is absent
/// or names axes outside.
std::optional<std::vector<std::int64_t>> attribute_axes(const ir::Node& node, int rank);
/// Returns the order that a transpose gives the axes of its operand, each in [0, rank); nullopt if
/// the operand's rank is not known, because then the order also checks it.
std::optional<std::vector<std::int64_t>> order_of(const ir::Module& module, const ir::Node& node);

/// attribute_axes, but nullopt if an operand names the axes.
std::optional<std::vector<std::int64_t>> axes_by_attribute(const ir::Node& node, int rank);
/// Returns the axes of a step's element: those after the steps move down by one.
std::vector<std::int64_t> without_steps(std::vector<std::int64_t> axes, int steps);

/// Returns all attributes that are present, except the one of that name.
std::vector<ir::NamedAttr> attrs_but(const ir::Node& node, std::string_view left_out = "");
std::vector<ir::ValueId> values_of(const LiftedOperands& operands);
ir::ValueId list_of(ir::Builder& builder, const std::vector<std::int64_t>& integers);
/// Returns the axis of a sequence that corresponds to an axis of its elements.
int axis_in_sequence(int axis, int steps);
/// Moves the steps to axis 0.
Expected<ir::Lifted> at_front(ir::Builder& builder, const ir::Lifted& sequence);
/// Returns the sequence with its steps along another axis: a view.
Expected<ir::ValueId> with_steps_along(ir::Builder& builder, const ir::Lifted& sequence, int axis);
/// Inserts `count` axes of size 1, the first of them at `first`.
Expected<ir::ValueId> with_axes_of_1(ir::Builder& builder, ir::ValueId value, int first, int count);
/// Returns a value that is the same in all steps as a sequence as long as `like`: a view.
Expected<ir::Lifted> repeated(ir::Builder& builder, ir::ValueId value, const ir::Lifted& like);

}  // namespace scanloom::ops
