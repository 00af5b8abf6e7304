// Lowers a loop of one lane with independent steps to one LLVM function with the signature of
// CompiledLoopFn: vectors hold steps instead of lanes.
#pragma once

#include <llvm/IR/Module.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/interface.h"

namespace scanloom::jit {

/// Returns the registers of the increments of all states, if all states are integers to which every
/// step adds the same value: then no step waits for the one before. nullopt for other loops, for
/// loops with a condition, and for long programs.
std::optional<std::vector<std::int32_t>> increments_of(const LoopSource& source);

/// As emit_loop. `increments`: the result of increments_of.
void emit_step_lanes(llvm::Module& module, const LoopSource& source,
                     const std::vector<std::int32_t>& increments, unsigned vector_bytes);

}  // namespace scanloom::jit
