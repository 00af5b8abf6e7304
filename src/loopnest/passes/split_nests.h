// Splits nests that read a value assembled from pieces (a concat or a pad), so that they read the
// pieces instead. A nest becomes several, each of which reads one piece through every operand. The
// assembled value is then no longer written.
#pragma once

#include <vector>

#include "loopnest/part.h"

namespace scanloom::loopnest {

/// Splits all readers of such a value if that is possible and less work. `read_later` and
/// `is_buffer` are those of fuse_nests. Afterwards no part is a piece.
void split_nests(std::vector<Part>& parts, const IsBuffer& is_buffer,
                 const std::vector<Use>& read_later);

}  // namespace scanloom::loopnest
