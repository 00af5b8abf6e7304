// What the tests of passes over nests share.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "loopnest/pass.h"

namespace scanloom::loopnest::test {

/// Slots: what ends with the step, a state's successor, a feed.
inline constexpr std::int32_t kLocal = 0, kState = 5, kFeed = 6;

inline bool is_local(std::int32_t slot) { return slot == kLocal; }

/// Returns the parts after one pass, with the buffer above. `read_later`: see BodyParts.
inline std::vector<Part> after(void (*pass)(BodyParts&), std::vector<Part> parts,
                               std::vector<Use> read_later = {}) {
  BodyParts body{.parts = std::move(parts), .is_buffer = is_local};
  body.read_later = std::move(read_later);
  pass(body);
  return std::move(body.parts);
}

inline Access f32_at(std::int32_t slot, std::int64_t offset,
                     std::vector<std::int64_t> strides = {1}) {
  return {slot, DType::f32, offset, std::move(strides)};
}

}  // namespace scanloom::loopnest::test
