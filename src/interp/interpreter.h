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
#include "tensor/stop_token.h"

namespace scanloom::interp {

/// Progress of the outermost loop that is running.
struct LoopProgress {
  ir::NodeId loop;
  std::int64_t step = 0;    ///< steps done
  std::int64_t steps = -1;  ///< -1: not known
};

struct InterpretOptions {
  /// Limit for each execution of a loop without a finite trip count.
  std::int64_t max_steps = ir::kDefaultMaxSteps;
  /// Limit for each execution of any loop; -1: none.
  std::int64_t max_steps_of_any = -1;
  /// Limit on the bytes of all values alive at once that the run makes, without feeds and
  /// constants. 0: the default of MemoryBudget.
  std::int64_t max_memory = std::numeric_limits<std::int64_t>::max();
  /// The number of this run of the session: random operators draw new numbers in each.
  std::uint64_t run_number = 0;
  /// Called before every step of every loop; an error ends the run (cancellation, a deadline).
  std::function<Expected<void>(const LoopProgress&)> may_go_on;
  /// Polled within large nodes and after every node. Once it stops the run, `why_stopped` returns
  /// the error.
  tensor::StopToken* stop = nullptr;
  std::function<Error()> why_stopped;
};

/// Computes the module's outputs from one value for each argument of its top region. Errors name
/// the node and the steps of the loops around it: invalid_argument (feeds, data), limit_reached,
/// internal (a result that contradicts its type). Thread-safe.
Expected<std::vector<tensor::ObjectRef>> interpret_objects(const ir::Module& module,
                                                           std::span<const tensor::ObjectRef> feeds,
                                                           const InterpretOptions& options = {});
/// Interprets modules whose inputs and outputs are all tensors; unsupported for others.
Expected<std::vector<tensor::Tensor>> interpret(const ir::Module& module,
                                                std::span<const tensor::Tensor> feeds,
                                                const InterpretOptions& options = {});

}  // namespace scanloom::interp
