// Promotes values of a body from the run's memory to the code's own.
#pragma once

#include <vector>

#include "loopnest/part.h"

namespace scanloom::loopnest {

/// Moves what only nests touch to the code's own memory, listed in `source.locals`: values in
/// buffers that end with the step, and small states, which then need no slot swaps. `read_later` is
/// what `source.keep_going` reads. Changes operands of `parts` and `source.swaps`.
void promote_buffers(std::vector<Part>& parts, const IsBuffer& is_buffer,
                     const std::vector<Use>& read_later, BodySource& source);

}  // namespace scanloom::loopnest
