// Operands that the tests of nests share.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "loopnest/loopnest.h"

namespace scanloom::loopnest::test {

/// Slots: what ends with the step, a state's successor, a feed.
inline constexpr std::int32_t kLocal = 0, kState = 5, kFeed = 6;

inline bool is_local(std::int32_t slot) { return slot == kLocal; }

inline Access f32_at(std::int32_t slot, std::int64_t offset,
                     std::vector<std::int64_t> strides = {1}) {
  return {slot, DType::f32, offset, std::move(strides)};
}

}  // namespace scanloom::loopnest::test
