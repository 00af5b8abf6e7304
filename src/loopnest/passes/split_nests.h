// Nests that read what others have put together piece by piece, a concat or a pad, read the pieces
// instead: in as many parts as there are pieces, each with one of them in every operand. What was
// put together is then written no more.
#pragma once

#include <vector>

#include "loopnest/part.h"

namespace scanloom::loopnest {

/// Where all readers of such a value can be split and that is less work, splits them. `read_later`
/// and `is_buffer`: as of fuse_nests. Afterwards no part is a piece.
void split_nests(std::vector<Part>& parts, const IsBuffer& is_buffer,
                 const std::vector<Use>& read_later);

}  // namespace scanloom::loopnest
