// The times of a run as rows for people: one per node and kernel, loops before their bodies.
#pragma once

#include <vector>

#include <scanloom/options.h>

#include "plan/binding.h"
#include "runtime/run.h"

namespace scanloom {

/// In the order of the flat list; omits nodes that never ran.
std::vector<NodeTime> profile_rows(const plan::Binding& binding, const runtime::Profile& profile);

}  // namespace scanloom
