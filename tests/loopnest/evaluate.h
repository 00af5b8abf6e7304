// Runs a body of the loop-nest IR element by element, exactly as its definition reads. It is the
// reference for the code of every compiler, before and after every pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "loopnest/loopnest.h"

namespace scanloom::loopnest::test {

/// Runs steps of a body that calls no kernels, and none of whose indices are out of range. Leaves
/// the slots as the next step needs them. Returns `steps`, or -1 - n if keep_going became false
/// after n steps.
std::int64_t evaluate(const BodySource& source, std::vector<std::byte*>& slots,
                      std::span<const std::int64_t> parameters, std::int64_t steps);

}  // namespace scanloom::loopnest::test
