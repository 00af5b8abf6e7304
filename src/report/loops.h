// The loops of a report: their strategies, the obstacles to faster ones, what would help, and how
// far their steps are from the machine's roofline.
#pragma once

#include <span>

#include "plan/binding.h"
#include "report/json.h"
#include "report/loop_measured.h"

namespace scanloom::report {

/// Returns a list with an object per loop (docs/report.md). `measured` is indexed like
/// `binding.loops`; `roofline` may be empty.
Json loops(const plan::Binding& binding, std::span<const LoopMeasured> measured,
           const Roofline& roofline);

}  // namespace scanloom::report
