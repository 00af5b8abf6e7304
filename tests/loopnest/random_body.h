// Bodies of the loop-nest IR that are made at random: nests with broadcast, reversed, transposed
// and indexed reads, reductions, writes by index, slices at an index, pieces of a value, branches,
// inner loops, aliases, states and rows, of elements of all floating-point types and some integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "loopnest/pass.h"

namespace scanloom::loopnest::test {

/// Where a result is stored after the last step, and how its bytes are read.
struct Result {
  std::int32_t slot = 0;
  DType dtype = DType::f32;
  bool is_state = false;  ///< read where the slot points in the end; rows are read where it began
  std::size_t bytes = 0;
};

struct RandomBody {
  BodyParts body;
  std::vector<std::vector<std::byte>> memory;  ///< of each slot, before the first step
  std::vector<Result> results;
  std::size_t loops = 0;  ///< inner loops that are not counted
};

inline constexpr std::int64_t kRandomSteps = 3;

/// `inner_passes`: whether blocks inside the body have been through the passes, as binding does it.
/// The body is the same otherwise.
RandomBody make_random_body(std::uint64_t seed, bool inner_passes);

}  // namespace scanloom::loopnest::test
