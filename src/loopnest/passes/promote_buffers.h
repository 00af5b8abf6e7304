// Which values of a body need no memory of the run.
#pragma once

#include <vector>

#include "loopnest/part.h"

namespace scanloom::loopnest {

/// Gives what only nests touch to the code's own memory, of which `source.locals` becomes the list:
/// values in buffers that end with the step, and states that are small, which then move no slots.
/// `read_later` lies at the slots of `source.keep_going`. Changes operands of `parts` and
/// `source.swaps`.
void promote_buffers(std::vector<Part>& parts, const IsBuffer& is_buffer,
                     const std::vector<Use>& read_later, BodySource& source);

}  // namespace scanloom::loopnest
