// Finds the loops and steps in which a run failed, from its position in the flat list. This happens
// after the failure, so that successful runs pay nothing for it. Free functions.
#pragma once

#include <cstdint>
#include <span>

#include "base/expected.h"
#include "plan/binding.h"
#include "runtime/loop_state.h"

namespace scanloom::runtime {

/// Returns the instruction at which code of the loop's body failed. Sets the step of that loop, and
/// of the loops inside it that enclose the instruction.
std::uint32_t find_failed(const plan::Binding& binding, std::span<LoopState> loops,
                          std::uint32_t loop, const jit::BodyFrame& frame);

/// Adds a note to the error of instruction `at` for each enclosing loop, the innermost first.
Error note_steps(Error error, const plan::Binding& binding, std::span<const LoopState> loops,
                 std::uint32_t at);

}  // namespace scanloom::runtime
