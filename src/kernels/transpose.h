// Exchanging two axes of a block of elements, in vectors. Shared by copies of all permutations.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scanloom::kernels {

/// Element (r, c) goes from from + r * from_step + c elements to to + c * to_step + r elements.
/// Steps are in bytes, as are the distances between blocks; a from_step of 0 repeats elements.
struct Transposition {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t from_step = 0, to_step = 0;
  std::int64_t count = 1;  ///< of such blocks
  std::int64_t from_next = 0, to_next = 0;
};

using TransposeFn = void (*)(const Transposition&);

}  // namespace scanloom::kernels
