// The oracle: runs a module node by node with the operators' reference kernels. Slow on purpose:
// every other way to execute a module is tested against it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"
#include "tensor/object.h"

namespace scanloom::interp {

/// How far the outermost loop that is running has come.
struct LoopProgress {
  ir::NodeId loop;
  std::int64_t step = 0;    ///< steps done
  std::int64_t steps = -1;  ///< -1: not known
};

struct InterpretOptions {
  /// Of each execution of a loop without a finite trip count.
  std::int64_t max_steps = ir::kDefaultMaxSteps;
  /// Of each execution of any loop; -1: no limit.
  std::int64_t max_steps_of_any = -1;
  /// Bytes of all values at once, as far as the run makes them: feeds and constants do not count.
  /// 0: as MemoryBudget has it by default.
  std::int64_t max_memory = std::numeric_limits<std::int64_t>::max();
  /// Which run of the session this is: random operators draw anew in each.
  std::uint64_t run_number = 0;
  /// Asked before every step of every loop; an error ends the run (cancellation, a deadline).
  std::function<Expected<void>(const LoopProgress&)> may_go_on;
};

/// The module's outputs, from one value for each argument of its top region. Errors name the node
/// and the steps of the loops around it: invalid_argument (feeds, data), limit_reached, internal (a
/// result that contradicts its type). Thread-safe.
Expected<std::vector<tensor::ObjectRef>> interpret_objects(const ir::Module& module,
                                                           std::span<const tensor::ObjectRef> feeds,
                                                           const InterpretOptions& options = {});
/// The same for modules of which all inputs and outputs are tensors; unsupported for others.
Expected<std::vector<tensor::Tensor>> interpret(const ir::Module& module,
                                                std::span<const tensor::Tensor> feeds,
                                                const InterpretOptions& options = {});

}  // namespace scanloom::interp
