// What differs from one number of steps to the next becomes parameters that the run passes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "loopnest/loopnest.h"

namespace scanloom::loopnest {

/// By slots that point to slices or rows: how many elements neighbours lie apart, at least, along
/// axes outside of that of the steps. Such strides grow with the number of steps.
using StepExtents = std::map<std::int32_t, std::int64_t>;

/// Replaces such numbers by parameters, whose values it appends: strides that are no smaller than
/// the slot's extent, the sizes of axes that an index selects from, and of inner loops of more than
/// a few steps how many they are and where they begin.
void parametrize(std::vector<Statement>& statements, const StepExtents& extents,
                 std::vector<std::int64_t>& parameters);

}  // namespace scanloom::loopnest
