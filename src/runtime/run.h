// Run: one execution at a time of a Binding, with an arena, slots and calls of its own in which
// every pointer that does not move is set already. Made once and used again by later runs of the
// same sizes; not thread safe, so each concurrent run has its own. Its parts are in run_state.h.
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

/// Where time went, by index of Binding::calls, dynamic_calls, object_calls, loops.
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
    std::vector<std::vector<ir::NodeId>> nodes;  ///< that each statement of the code computes
    std::vector<std::uint64_t> ticks;            ///< that each took; a unit of the processor's
  };
  std::vector<Body> bodies;
};

/// What the loops that are in no other loop took, by index of Binding::loops.
struct LoopTime {
  std::int64_t last = -1;  ///< steps of the last execution, profiled or not; -1: there was none
  std::int64_t steps = 0;
  double seconds = 0;
  std::int64_t shared = 0;  ///< executions whose steps were taken in parallel
  int threads = 1;          ///< the most that took steps at the same time
};

struct RunResult {
  std::vector<tensor::Tensor> outputs;     ///< not defined where `objects` has the result
  std::vector<tensor::ObjectRef> objects;  ///< sequences, optionals and strings, by output
  std::int64_t steps = 0;
  /// The peak of the values whose sizes the data decide, including sequences, optionals and
  /// strings: what comes on top of what the binding knows.
  std::int64_t data_bytes = 0;
};

class Run {
 public:
  /// Makes a Run. `results`: shared by Runs whose results use each other's memory. Errors:
  /// limit_reached (the memory budget, naming the bytes), out_of_memory.
  static Expected<std::unique_ptr<Run>> make(std::shared_ptr<const plan::Binding> binding,
                                             std::int64_t max_memory, int max_threads,
                                             std::shared_ptr<ResultMemory> results = nullptr);
  ~Run();

  /// Feeds are row-major, of the binding's shapes, and outlive the call. Where an input is a
  /// sequence, an optional or of strings, `objects` has it, of the input's type. `number`: which
  /// run of the session this is, for random operators. Errors name the node.
  Expected<RunResult> execute(std::span<const std::byte* const> feeds, const Limits& limits,
                              Profile* profile = nullptr,
                              std::span<const tensor::ObjectRef> objects = {},
                              std::uint64_t number = 0);

  [[nodiscard]] const std::shared_ptr<const plan::Binding>& binding() const;
  /// Returns the times of all executions; steps and seconds of those that were not profiled.
  [[nodiscard]] const std::vector<LoopTime>& loop_times() const;

 private:
  Run(std::unique_ptr<RunState> state, std::shared_ptr<ResultMemory> results);
  /// Executes the list once all parts have begun the run.
  Expected<RunResult> run(std::span<const std::byte* const> feeds, const Limits& limits);

  std::unique_ptr<RunState> state_;
  std::shared_ptr<ResultMemory> results_;
  std::uint64_t runs_ = 0;  // begun
};

}  // namespace scanloom::runtime
