// How the lanes of a nest without reductions are divided into blocks of vectors.
#pragma once

#include <cstdint>
#include <optional>

#include "jit/emit_nest.h"

namespace scanloom::jit {

/// `count` vectors of `lanes` lanes. The first begins at `first`; the last ends with the row and
/// may overlap the one before it.
struct LastVectors {
  std::int64_t first, lanes;
  unsigned count;
};

/// Returns the lanes of a block.
unsigned lanes_of_block(const loopnest::Nest& nest, const NestTarget& target);

/// Returns how many rows of the innermost axis form one block. Short rows with functions share
/// one, so that their chains are interleaved.
unsigned rows_of_block(const loopnest::Nest& nest, const NestTarget& target);

/// For rows with functions that are not a whole number of vectors: the last vector overlaps the
/// one before it and is interleaved with it. In pieces of 4, 2 and 1 lanes, each would wait for
/// its own chain. `row`: its number of lanes.
std::optional<LastVectors> last_vectors(const loopnest::Nest& nest, const NestTarget& target,
                                        std::int64_t row);

}  // namespace scanloom::jit
