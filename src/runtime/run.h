// Run: executes a Binding, one run at a time, with its own arena, slots and calls, in which every
// fixed pointer is already set. Later runs of the same sizes reuse it. Not thread safe: each
// concurrent run has its own. Its parts are in run_state.h.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan/binding.h"
#include "runtime/limits.h"
#include "runtime/result_memory.h"
#include "tensor/object.h"
#include "tensor/tensor.h"

namespace scanloom::runtime {

struct RunState;

/// Times of calls and loops, by index of Binding::calls, dynamic_calls, object_calls and loops.
struct Profile {
  struct Entry {
    std::int64_t calls = 0;
    double seconds = 0;
  };
  std::vector<Entry> calls, dynamic_calls, object_calls, loops;

  /// Steps of a stepped loop that machine code ran.
  struct Body {
    std::int64_t steps = 0;
    double seconds = 0;
    std::vector<std::vector<ir::NodeId>> nodes;  ///< computed by each statement of the code
    std::vector<std::uint64_t> ticks;            ///< of each statement, in ticks of the processor
  };
  std::vector<Body> bodies;
};

/// The time of an outermost loop, by index of Binding::loops.
struct LoopTime {
  std::int64_t last = -1;  ///< steps of the last execution, profiled or not; -1: none yet
  std::int64_t steps = 0;
  double seconds = 0;
  std::int64_t shared = 0;  ///< executions whose steps were taken in parallel
  int threads = 1;          ///< the largest number that took steps at the same time
};

struct RunResult {
  std::vector<tensor::Tensor> outputs;     ///< undefined where `objects` holds the result
  std::vector<tensor::ObjectRef> objects;  ///< sequences, optionals and strings, by output
  std::int64_t steps = 0;
  /// Peak bytes of values whose sizes depend on the data, including sequences, optionals and
  /// strings; in addition to the bytes that the binding reports.
  std::int64_t data_bytes = 0;
};

class Run {
 public:
  /// Makes a Run. Runs with the same `results` reuse each other's result memory. Errors:
  /// limit_reached (the memory budget, naming the bytes), out_of_memory.
  static Expected<std::unique_ptr<Run>> make(std::shared_ptr<const plan::Binding> binding,
                                             std::int64_t max_memory, int max_threads,
                                             std::shared_ptr<ResultMemory> results = nullptr);
  ~Run();

  /// Executes the binding. Feeds are row-major, have the binding's shapes, and outlive the call.
  /// Inputs that are sequences, optionals or strings are passed in `objects`. `number` counts the
  /// runs of the session; random operators depend on it. Errors name the node.
  Expected<RunResult> execute(std::span<const std::byte* const> feeds, const Limits& limits,
                              Profile* profile = nullptr,
                              std::span<const tensor::ObjectRef> objects = {},
                              std::uint64_t number = 0);

  [[nodiscard]] const std::shared_ptr<const plan::Binding>& binding() const;
  /// Whether the last execution was denied memory; it may have succeeded with less.
  [[nodiscard]] bool was_short_of_memory() const;
  /// Returns the times of all executions; steps and seconds leave out profiled ones.
  [[nodiscard]] const std::vector<LoopTime>& loop_times() const;

 private:
  Run(std::unique_ptr<RunState> state, std::shared_ptr<ResultMemory> results);
  /// Executes the list after all parts have begun the run.
  Expected<RunResult> run(std::span<const std::byte* const> feeds, const Limits& limits);

  std::unique_ptr<RunState> state_;
  std::shared_ptr<ResultMemory> results_;
  std::uint64_t runs_ = 0;  // number of runs begun
};

}  // namespace scanloom::runtime
