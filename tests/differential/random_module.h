// Random modules with loops, for comparing the ways to execute them.
#pragma once

#include <cstdint>

#include "ir/module.h"

namespace scanloom::differential {

/// A verified module of loops and branches, up to three deep, over small tensors; the same for the
/// same seed. Its inputs are an i64 number of steps, "n", and tensors, of which sequences have that
/// many elements.
ir::Module random_module(std::uint64_t seed);

}  // namespace scanloom::differential
