// A loop of one lane whose steps do not depend on each other to one LLVM function with the
// signature of CompiledLoopFn: vectors of steps take the place of vectors of lanes.
#pragma once

#include <llvm/IR/Module.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/interface.h"

namespace scanloom::jit {

/// The registers of what each step adds to the states, where all of them are integers to which the
/// same is added in all steps: then none waits for the step before. nullopt for other loops, for
/// those that a condition ends, and for long programs.
std::optional<std::vector<std::int32_t>> increments_of(const LoopSource& source);

/// As emit_loop. `increments`: of increments_of.
void emit_step_lanes(llvm::Module& module, const LoopSource& source,
                     const std::vector<std::int32_t>& increments, unsigned vector_bytes);

}  // namespace scanloom::jit
