// Location: where binding has stored a value.
#pragma once

#include <vector>

#include "plan/bind/arena.h"
#include "plan/binding.h"

namespace scanloom::plan {

/// Where a value is stored while binding, and which arena buffers a read of it may touch.
struct Location {
  Spot spot;
  std::vector<BufferId> buffers;  ///< ascending, without duplicates

  void add_buffers(const std::vector<BufferId>& more);
};

}  // namespace scanloom::plan
