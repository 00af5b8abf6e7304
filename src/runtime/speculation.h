// Speculation: takes the steps of one long loop on several threads. The main thread takes them in
// order, as far as it must; the others take later chunks from a guess of the state and keep
// checkpoints. When the main thread reaches a chunk, it takes its steps again until its state
// agrees with a checkpoint bit for bit: from there on all steps of the chunk are those in order. A
// chunk that never agrees has only cost the time of its thread. Two things save the main thread
// work, and neither is trusted before the main thread has compared states. A thread that has ended
// its chunk takes the first steps of the next one again, from its own last state (a link). And
// where a recurrence over few states keeps being in a wrong one, all threads take the chunk again,
// from the states that were right where earlier ones were wrong (plan/state_pairs.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/expected.h"
#include "base/function_ref.h"
#include "plan/speculation.h"
#include "plan/state_pairs.h"
#include "runtime/limits.h"
#include "runtime/paired_parts.h"
#include "runtime/speculative_chunks.h"
#include "runtime/step_taker.h"

namespace scanloom::runtime {

/// Whether and how a loop is to be speculated in this run.
struct SpeculationPlan {
  int threads = 1;  ///< 1: the steps are taken in order, unless forced
  bool is_forced = false;
  ChunkSizes sizes;
  std::int64_t bytes = 0;  ///< of all threads, see limit_bytes()

  [[nodiscard]] bool speculates() const { return threads > 1 || is_forced; }
};
/// Decides for `steps` steps on up to `max_threads` threads.
SpeculationPlan plan_speculation(const plan::Speculation& speculation,
                                 plan::SpeculationRecord& record, plan::SpeculationMode mode,
                                 std::int64_t steps, int max_threads);
/// Limits the bytes of the plan's checkpoints, and returns what its threads need with them if each
/// has `own_bytes` besides.
std::int64_t limit_bytes(SpeculationPlan& plan, const plan::Speculation& speculation,
                         std::int64_t steps, std::int64_t own_bytes);

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
  using State = SpeculatedState;

  Expected<bool> run_main();
  void help();
  /// Takes the front in order.
  Expected<bool> take_front_in_order(SpeculativeChunk& chunk);
  /// Takes steps of the front in order, up to a step that is not after its end.
  Expected<bool> take_in_order(std::int64_t last);
  /// Takes the front, which another thread has computed or computes: as many of its steps as it
  /// must.
  Expected<bool> validate(SpeculativeChunk& chunk);
  enum class Verdict : std::uint8_t { agrees, differs, cut, failed };
  /// Takes steps of the front until the states agree; or until its steps are to be redone.
  Expected<Verdict> compare(SpeculativeChunk& chunk);
  /// Goes on after the steps of the front, which are right from here on.
  Expected<void> accept(SpeculativeChunk& chunk);
  /// Records by how much the thread of a chunk ended after the main thread, which got to its first
  /// right state at `agreed`.
  void note_lead(const SpeculativeChunk& chunk, Clock::time_point agreed);
  /// Waits until the thread that has a chunk with right states has ended; works for it meanwhile.
  Expected<void> wait_for_end(SpeculativeChunk& chunk);
  /// Computes parts of chunks that other threads have not got to.
  Expected<void> compute_stolen();
  /// Computes all chunks that nobody has; for speculation that is forced.
  Expected<void> compute_ahead();
  /// Adds a pair of states of the front; returns whether its steps were cut into parts, which other
  /// threads take again.
  bool redo(SpeculativeChunk& chunk, const State& theirs);
  /// Takes the chunk's steps from a guess. `goes_on` is asked every 0.1 to 0.4 ms.
  void speculate(SpeculativeChunk& chunk, StepTaker& taker, FunctionRef<bool()> goes_on);
  class Pieces;
  /// Takes the first steps of the next chunk again, after the last one of this chunk and from the
  /// state that it left.
  void link(SpeculativeChunk& chunk, Pieces& pieces, std::int64_t step, const State& state);
  Expected<void> speculate_in_main(SpeculativeChunk& chunk);
  [[nodiscard]] State guess_at(std::int64_t step) const;
  [[nodiscard]] Expected<void> poll() { return parts_.poll(step_); }

  Parts parts_;
  const SpeculationPlan plan_;
  const std::int64_t first_;
  const plan::SpeculationRecord::Facts facts_;  // what earlier runs have learned
  const State initial_;                         // of the first step
  SpeculativeChunks chunks_;
  std::int64_t step_;  // the main thread has committed the steps before it
  State state_;        // of the main thread, where it was compared last
  const PairedStates paired_states_;
  plan::StatePairs pairs_;
  std::unique_ptr<StepTaker> ahead_;  // of the main thread, for steps that are not its next
  const bool is_linking_;             // threads take the first steps of the next chunk again
  bool is_trusted_;                   // guesses have led to the right state
  bool has_failed_ = false;           // a chunk never agreed
  // Seconds of a step in order, until the first chunk after the front is accepted.
  double pace_ = 0;
};

}  // namespace scanloom::runtime
