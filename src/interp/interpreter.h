// The oracle: runs a module node by node with the operators' reference kernels. Slow on purpose:
// every other way to execute a module is tested against it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::interp {

struct InterpretOptions {
  /// Of each execution of a loop without a finite trip count.
  std::int64_t max_steps = 100'000'000;
  /// Of each execution of any loop; -1: no limit.
  std::int64_t max_steps_of_any = -1;
  /// Asked before every step; an error ends the run (cancellation, a deadline).
  std::function<Expected<void>()> may_go_on;
};

/// The module's outputs, from one tensor for each argument of its top region. Errors name the node
/// and the steps of the loops around it: invalid_argument (feeds, data), limit_reached, unsupported
/// (sequences and optionals), internal (a result that contradicts its type). Thread-safe.
Expected<std::vector<tensor::Tensor>> interpret(const ir::Module& module,
                                                std::span<const tensor::Tensor> feeds,
                                                const InterpretOptions& options = {});

}  // namespace scanloom::interp
