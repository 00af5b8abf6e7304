// Random bodies of the loop-nest IR: nests with broadcast, reversed, transposed
// and indexed reads, reductions, pieces of a value, branches, states and rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
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
};

inline constexpr std::int64_t kRandomSteps = 3;

RandomBody make_random_body(std::uint64_t seed);

}  // namespace scanloom::loopnest::test
