// How a body uses the run's slots: decides which of them its code keeps in registers.
#pragma once

#include <cstdint>
#include <set>

#include "loopnest/loopnest.h"

namespace scanloom::jit {

struct SlotUsage {
  std::set<std::int32_t> used, moved;  ///< `used` includes those that the body moves
  bool has_calls = false;              ///< kernels, which read slots of the run
  bool charges_time = false;
};

SlotUsage slot_usage_of(const loopnest::BodySource& source);

}  // namespace scanloom::jit
