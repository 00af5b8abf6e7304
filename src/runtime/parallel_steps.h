// ParallelSteps: steps that do not depend on each other, taken by several threads. Every thread
// takes shares of them with a worker, a RunState of its own. The main RunState took the first step,
// which tells whether the others are long enough, unless binding could tell it, and combines what
// the workers have made. Where a step fails, nothing of it is kept and the steps are taken in order
// instead, so that the first error is found, whatever the number of threads.
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

/// It owns the workers, which are kept for later runs. Not thread safe. Errors: cancelled.
class ParallelSteps {
 public:
  /// `main`: that it is part of, and of whose loops the steps are.
  explicit ParallelSteps(RunState& main);
  ~ParallelSteps();
  ParallelSteps(const ParallelSteps&) = delete;
  ParallelSteps& operator=(const ParallelSteps&) = delete;

  /// Takes all steps of a loop that has begun, where binding could tell that it pays; whether it
  /// did. Errors also: limit_reached (the step limit).
  Expected<bool> take_all(std::uint32_t loop, const Watch& watch);
  /// Takes the steps that are left, if they are long enough, each of about `step_seconds`; whether
  /// it did. If a step fails, none was taken.
  Expected<bool> take_rest(std::uint32_t loop, double step_seconds, const Watch& watch);
  /// Frees the workers.
  void release_workers();

 private:
  /// Returns how many threads are worth waking; 1: the steps are taken in order.
  [[nodiscard]] int worthwhile_threads(std::uint32_t loop, double step_seconds) const;
  /// Returns false where there is no memory for so many.
  bool make_workers(std::size_t count);
  /// Adds what the workers have made to what `main` has.
  Expected<void> adopt(std::uint32_t loop, std::vector<StepResults> results);

  RunState& main_;
  std::vector<std::unique_ptr<RunState>> workers_;
  std::unique_ptr<Storage> workers_memory_;  // counts the arenas of workers; it holds none
};

}  // namespace scanloom::runtime
