#include "base/memory_budget.h"

#include <algorithm>

#include "base/memory_left.h"

namespace scanloom {

bool MemoryBudget::measure(std::int64_t held, bool recent) {
  if (is_final_) return false;
  is_final_ = true;
  const std::int64_t left = recent ? recent_memory_left() : memory_left();
  // The memory that the run holds was available when it began.
  const std::int64_t before = bytes_;
  bytes_ = std::max((left + held) / 5 * 4, kUnmeasured);
  return bytes_ > before;
}

}  // namespace scanloom
