// The form of a module for whole sequences of unequal lengths in one batch: each is padded to the
// length of the longest, and one more input says how long it is. What loops and layers carry rests
// while they walk through the padding, so every result has the bits that it has without padding.
#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "base/refusal.h"
#include "ir/module.h"
#include "passes/streaming/padded_flow.h"

namespace scanloom::passes {

struct PaddedForm {
  ir::Module module;  ///< for one sequence; its last argument is the length, an i64
  std::vector<ir::StepFlow> arguments;  ///< where the model's own arguments have the steps
  std::vector<ir::StepFlow> results;
  std::vector<StepOrder> orders;  ///< of the results that have them
};

/// Writes a module again for sequences of 1 step or more that are padded. Its inputs must have one
/// open size, the number of steps. Refusal: the node that computes across the steps in a way that
/// padding would change.
std::variant<PaddedForm, Refusal> padded_form(const ir::Module& module);

}  // namespace scanloom::passes
