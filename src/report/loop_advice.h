// The obstacles to a faster strategy of a loop, and what its user could do about them.
#pragma once

#include <string>
#include <vector>

#include "plan/binding.h"

namespace scanloom::report {

struct Obstacle {
  std::string text;    ///< in the terms of `explain`
  std::string advice;  ///< empty: nothing that the user could do is known
  ir::NodeId node;     ///< the node in the way; invalid: it is no single one
};

/// Returns the obstacles, the most important first; none for a whole-loop compiled loop.
std::vector<Obstacle> obstacles(const plan::Binding& binding, const plan::BoundLoop& loop);

}  // namespace scanloom::report
