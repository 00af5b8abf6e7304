// ParallelSteps: takes independent steps of a loop on several threads. Each thread takes shares of
// the steps with a worker, a RunState of its own; the main RunState combines the results. Unless
// binding could decide, the main RunState times the first step to see whether the others are long
// enough. If a step fails, all results are dropped and the steps are taken in order, so that the
// reported error is the first one, whatever the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/expected.h"
#include "runtime/limits.h"
#include "runtime/run_memory.h"

namespace scanloom::runtime {

struct RunState;
struct StepResults;

/// Owns the workers and keeps them for later runs. Not thread safe. Errors: cancelled.
class ParallelSteps {
 public:
  /// `main` is the RunState that contains this object and runs the loop.
  explicit ParallelSteps(RunState& main);
  ~ParallelSteps();
  ParallelSteps(const ParallelSteps&) = delete;
  ParallelSteps& operator=(const ParallelSteps&) = delete;

  /// Takes all steps of a loop that has begun, if binding found that this pays; returns whether it
  /// did. Errors also: limit_reached (the step limit).
  Expected<bool> take_all(std::uint32_t loop, const Watch& watch);
  /// Takes the remaining steps if they are long enough, at about `step_seconds` each; returns
  /// whether it did. If a step fails, none counts as taken.
  Expected<bool> take_rest(std::uint32_t loop, double step_seconds, const Watch& watch);
  /// Frees the workers.
  void release_workers();

 private:
  /// Returns how many threads are worth waking; 1 means that the steps are taken in order.
  [[nodiscard]] int worthwhile_threads(std::uint32_t loop, double step_seconds) const;
  /// Returns false if there is no memory for that many workers.
  bool make_workers(std::size_t count);
  /// Merges the results of the workers into `main`.
  Expected<void> adopt(std::uint32_t loop, std::vector<StepResults> results);

  RunState& main_;
  std::vector<std::unique_ptr<RunState>> workers_;
  std::unique_ptr<Storage> workers_memory_;  // counts the arenas of workers; it holds none
};

}  // namespace scanloom::runtime
