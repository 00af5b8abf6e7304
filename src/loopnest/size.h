// How many operations the statements of a body become, about: what bounds the time of the compiler.
#pragma once

#include <cstdint>
#include <span>

#include "loopnest/part.h"

namespace scanloom::loopnest {

/// Operations of vectors and of elements that all these statements become, with what is inside of
/// them. Functions of which there are many are written once and called.
std::int64_t emitted_of(std::span<const Part> parts);

}  // namespace scanloom::loopnest
