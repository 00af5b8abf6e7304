// Run: one execution at a time of a Binding: its arena, its slots, its calls with every pointer
// that does not move already in place. Made once, used again by later runs of the same sizes; not
// thread safe, so each concurrent run has its own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan/binding.h"
#include "runtime/limits.h"
#include "runtime/result_memory.h"
#include "tensor/boxed.h"
#include "tensor/tensor.h"

namespace scanloom::runtime {

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

/// What the loops that stand in no other one took, by index of Binding::loops.
struct LoopTime {
  std::int64_t last = -1;  ///< steps of the last execution, profiled or not; -1: there was none
  std::int64_t steps = 0;
  double seconds = 0;
  std::int64_t shared = 0;  ///< executions whose steps were taken side by side
  int threads = 1;          ///< that took steps at the same time, at most
};

struct RunResult {
  std::vector<tensor::Tensor> outputs;  ///< not defined where `objects` has the result
  std::vector<tensor::BoxRef> objects;  ///< sequences, optionals and strings, by output
  std::int64_t steps = 0;
  /// The most that values took at one time whose sizes the data decide, sequences, optionals and
  /// strings among them: what comes on top of what the binding knows.
  std::int64_t data_bytes = 0;
};

class Run {
 public:
  /// `results`: shared by Runs whose results use each other's memory. Errors: limit_reached (the
  /// memory budget, naming the bytes), out_of_memory.
  static Expected<std::unique_ptr<Run>> make(std::shared_ptr<const plan::Binding> binding,
                                             std::int64_t max_memory, int max_threads,
                                             std::shared_ptr<ResultMemory> results = nullptr);
  ~Run();

  /// Feeds are row-major, of the binding's shapes, and outlive the call. Where an input is a
  /// sequence, an optional or of strings, `objects` has it, of the input's type. `number`: which
  /// run of the session this is, for random operators. Errors name the node.
  Expected<RunResult> execute(std::span<const std::byte* const> feeds, const Limits& limits,
                              Profile* profile = nullptr,
                              std::span<const tensor::BoxRef> objects = {},
                              std::uint64_t number = 0);

  [[nodiscard]] const std::shared_ptr<const plan::Binding>& binding() const;
  /// Of all executions; steps and times of those that were not profiled.
  [[nodiscard]] const std::vector<LoopTime>& loop_times() const;

 private:
  struct State;
  explicit Run(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace scanloom::runtime
