// Rules for streams (StepsRule in ir/op_def.h) that several operators share, and what the rules of
// operators are written with. Each returns the axis of the steps in every result.
#pragma once

#include <optional>
#include <vector>

#include "ir/node_attr.h"
#include "ir/op_def.h"
#include "ir/step_rules.h"

namespace scanloom::ops {

using ir::across;
using ir::attr_of;

/// The rule of pointwise operators. Broadcasting counts axes from the last one.
Expected<int> steps_of_pointwise(const ir::StepSite& s);
/// The rule of operators that work along the axis that the attribute `axis` names.
Expected<int> steps_along_axis(const ir::StepSite& s);
/// The rule of operators that treat every element on its own.
Expected<int> steps_unchanged(const ir::StepSite& s);

/// Returns the axes of operand 0 that an attribute or a constant operand names; nullopt if unknown.
std::optional<std::vector<int>> axes_of(const ir::StepSite& s, std::size_t operand);
/// Returns the axis in [0, rank) that the attribute `axis` names; nullopt if it is outside.
std::optional<int> attribute_axis(const ir::StepSite& s, int rank);
bool contains(const std::vector<int>& axes, int axis);
/// Returns the axis of the steps after `axes`, which do not contain it, are removed.
int without(const std::vector<int>& axes, int steps);

}  // namespace scanloom::ops
