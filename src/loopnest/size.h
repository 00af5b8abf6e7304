// Estimates the number of operations emitted for a body's statements, which bounds compile time.
#pragma once

#include <cstdint>
#include <span>

#include "loopnest/part.h"

namespace scanloom::loopnest {

/// Returns the vector and scalar operations of all these statements, including nested ones.
/// Functions with many occurrences are emitted once and called.
std::int64_t emitted_of(std::span<const Part> parts);

}  // namespace scanloom::loopnest
