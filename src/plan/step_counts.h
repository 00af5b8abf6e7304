// StepCounts: per loop, how many steps the runs of a session have stepped. The sum shows that
// compiling pays even if each run takes few steps.
#pragma once

#include <atomic>
#include <cstdint>

#include "plan/loop_facts.h"

namespace scanloom::plan {

/// Thread safe.
class StepCounts : public LoopFacts<std::atomic<std::int64_t>> {
 public:
  using Count = std::atomic<std::int64_t>;
};

}  // namespace scanloom::plan
