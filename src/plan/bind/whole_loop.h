// The form of a loop: one call of machine code that runs all steps, where the whole body is one
// element program over equal lanes, or a body that is stepped. Chosen here, once, before anything
// of the loop is emitted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/bind/context.h"
#include "plan/bind/loop_ports.h"

namespace scanloom::plan {

struct LoopForm {
  /// Set where machine code runs all steps: at once, if it has been compiled, or once the run finds
  /// that it pays.
  std::optional<WholeLoop> whole;
  std::vector<ir::ValueId> captured;  ///< what that code reads besides states and slices
  std::optional<Refusal> refusal;     ///< why no code runs all steps; nullopt: they are few
  std::string strategy;               ///< in the words of `explain`
};

/// Chooses the form, and has the code made where it pays at once; sets ctx.stopped where that was
/// to end. Emits nothing. `loop`: its controls and blocks are bound.
LoopForm choose_form(BindContext& ctx, const BoundLoop& loop, const std::vector<Location>& initial,
                     const std::vector<PortSlices>& slices);

}  // namespace scanloom::plan
