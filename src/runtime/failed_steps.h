// In which steps of which loops a run has failed: found afterwards, from where it was in the flat
// list, so that a run that succeeds pays nothing for it. Free functions.
#pragma once

#include <cstdint>
#include <span>

#include "base/expected.h"
#include "plan/binding.h"
#include "runtime/loop_state.h"

namespace scanloom::runtime {

/// Returns the instruction at which code of the loop's body has failed, and sets the steps of that
/// loop and of those inside it that are around the instruction.
std::uint32_t find_failed(const plan::Binding& binding, std::span<LoopState> loops,
                          std::uint32_t loop, const jit::BodyFrame& frame);

/// Returns the error of instruction `at` with a note for each loop around it, the innermost first.
Error note_steps(Error error, const plan::Binding& binding, std::span<const LoopState> loops,
                 std::uint32_t at);

}  // namespace scanloom::runtime
