// Chooses the form of a loop: one call of machine code that runs all steps, if the body is one
// element program over equal lanes, or a stepped body. Chosen once, before anything of the loop is
// emitted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/bind/context.h"
#include "plan/bind/loop_ports.h"

namespace scanloom::plan {

struct LoopForm {
  /// Set if machine code runs all steps, either compiled already or once the run finds that it
  /// pays.
  std::optional<WholeLoop> whole;
  std::vector<ir::ValueId> captured;  ///< what that code reads except states and slices
  std::optional<Refusal> refusal;     ///< why no code runs all steps; nullopt: too few steps
  std::string strategy;               ///< as `explain` prints it; empty if the run decides
};

/// Chooses the form, and compiles the code if that pays immediately; sets ctx.stopped if compiling
/// was cancelled. Emits nothing. Precondition: the controls and blocks of `loop` are bound.
LoopForm choose_form(BindContext& ctx, const BoundLoop& loop, const std::vector<Location>& initial,
                     const std::vector<PortSlices>& slices);

}  // namespace scanloom::plan
