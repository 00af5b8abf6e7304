// Speculation: takes the steps of one long loop on several threads. The main thread takes them in
// order, as far as it must; the others take later chunks from a guess of the state and keep
// checkpoints. When the main thread reaches a chunk, it takes its steps again until its state
// agrees with a checkpoint bit for bit: from there on all steps of the chunk are those in order. A
// chunk that never agrees has only cost the time of its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/expected.h"
#include "base/function_ref.h"
#include "plan/speculation.h"
#include "runtime/limits.h"
#include "runtime/speculative_chunks.h"
#include "runtime/step_taker.h"

namespace scanloom::runtime {

/// Whether and how a loop is to be speculated in this run.
struct SpeculationPlan {
  int threads = 1;  ///< 1: the steps are taken in order, unless forced
  bool is_forced = false;
  ChunkSizes sizes;

  [[nodiscard]] bool speculates() const { return threads > 1 || is_forced; }
};
/// Decides for `steps` steps on up to `max_threads` threads.
SpeculationPlan plan_speculation(const plan::Speculation& speculation,
                                 plan::SpeculationRecord& record, plan::SpeculationMode mode,
                                 std::int64_t steps, int max_threads);

/// One loop that is speculated.
class Speculation {
 public:
  struct Parts {
    const plan::Speculation& speculation;
    plan::SpeculationRecord& record;
    StepTaker& main;  ///< begun with the first step
    /// Makes the StepTaker of another thread, in that thread.
    std::function<std::unique_ptr<StepTaker>()> make_taker;
    /// Polls the limits after the main thread has got to a step. May throw.
    std::function<Expected<void>(std::int64_t step)> poll;
    PollInterval& interval;  ///< of the main thread
  };
  /// For the steps [first, last).
  Speculation(const Parts& parts, const SpeculationPlan& plan, std::int64_t first,
              std::int64_t last);

  /// Takes all steps; returns whether they succeeded. If not, the main StepTaker says why. Errors:
  /// those of `poll`.
  Expected<bool> run();

 private:
  using State = std::vector<std::byte>;

  Expected<bool> run_main();
  void help();
  /// Takes the front in order.
  Expected<bool> take_front_in_order(SpeculativeChunk& chunk);
  /// Takes steps of the front in order, up to a step that is not after its end.
  Expected<bool> take_in_order(std::int64_t last);
  /// Takes steps of a chunk that another thread has, until the states agree.
  Expected<bool> validate(SpeculativeChunk& chunk);
  /// Waits until the thread that has a chunk with right states has ended; works for it meanwhile.
  Expected<void> wait_for_end(SpeculativeChunk& chunk);
  /// Takes the chunk's steps from a guess. `goes_on` is asked every 0.1 to 0.4 ms.
  void speculate(SpeculativeChunk& chunk, StepTaker& taker, FunctionRef<bool()> goes_on);
  Expected<void> speculate_in_main(SpeculativeChunk& chunk);
  [[nodiscard]] State guess_at(std::int64_t step) const;
  [[nodiscard]] Expected<void> poll() { return parts_.poll(step_); }

  Parts parts_;
  const SpeculationPlan plan_;
  const std::int64_t first_;
  SpeculativeChunks chunks_;
  std::int64_t step_;      // the main thread has committed the steps before it
  State initial_, state_;  // of the first step; of the main thread where it was compared last
  std::unique_ptr<StepTaker> ahead_;  // of the main thread, for steps that are not its next
  bool is_trusted_;                   // guesses have led to the right state
  bool has_failed_ = false;           // a chunk never agreed
};

}  // namespace scanloom::runtime
