// Turns everything that differs between numbers of steps into parameters, which the run passes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "loopnest/loopnest.h"

namespace scanloom::loopnest {

/// By slot that points to slices or rows: the least distance in elements between neighbours along
/// axes outside the axis of the steps. Such strides grow with the number of steps.
using StepExtents = std::map<std::int32_t, std::int64_t>;

/// Replaces such numbers by parameters and appends their values: strides of at least the slot's
/// extent, sizes of axes that an index selects from, and, of inner loops with more than a few
/// steps, the number of steps and where they begin.
void parametrize(std::vector<Statement>& statements, const StepExtents& extents,
                 std::vector<std::int64_t>& parameters);

}  // namespace scanloom::loopnest
