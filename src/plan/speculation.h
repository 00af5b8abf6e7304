// Speculation along one long loop: threads compute later chunks of steps from a guess of the state,
// while the run takes the steps in order. Where its state agrees with theirs bit for bit, their
// steps stand. Binding decides whether a loop may be speculated; runs learn whether it pays.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "plan/state_pairs.h"

namespace scanloom::plan {

enum class SpeculationMode : std::uint8_t {
  automatic,  ///< where it has proven to pay
  never,
  always,  ///< every loop that may be speculated, however short; for tests
};

/// A record of what runs have learned about speculating a loop. Thread safe.
class SpeculationRecord {
 public:
  struct Facts {
    std::int64_t agreed = 0;        ///< chunks whose guess led to the right state
    std::int64_t failed = 0;        ///< runs in which a chunk was taken again to its end
    std::int64_t needed = 0;        ///< steps from a guess to the right state, recently at most
    std::int64_t in_vain = 0;       ///< steps of the longest chunk that failed
    int failed_since = 0;           ///< failures since a chunk has agreed
    std::int64_t agreed_since = 0;  ///< chunks that agreed since one did not
    std::int64_t redone = 0;        ///< parts of chunks that began with the right state of a pair
    double gain = 0;                ///< times faster than in order, in recent runs; 0: not known
    /// Steps that the main thread can take before the others begin, since they have to wake;
    /// negative where they are faster.
    std::int64_t lead = 0;
  };
  /// After so many failures without an agreement, a loop is left alone.
  static constexpr int kMaxFailures = 2;
  /// A chunk that is so many times longer than all that failed is another try.
  static constexpr std::int64_t kMuchLonger = 8;

  [[nodiscard]] Facts facts() const;
  /// Whether chunks of that many steps may pay.
  [[nodiscard]] bool may_pay(std::int64_t steps) const;
  /// Records a chunk that had the right state after `needed` steps.
  void note_agreed(std::int64_t needed);
  /// Records a part of a wrong chunk that began with the right state, thanks to a pair.
  void note_redone();
  /// Records a chunk of `steps` steps that never had the right state.
  void note_failed(std::int64_t steps);
  /// Records that the others ended so many steps after the main thread, which had allowed for
  /// `lead`, in a run with chunks of `of_chunk` steps. Negative: they had to wait for it.
  void note_lead(std::int64_t late, std::int64_t of_chunk);
  /// Records how many times faster a run was than in order, as the pace of its main thread shows.
  void note_gain(double gain);
  /// Whether the next run should take the steps in order because earlier ones gained nothing: the
  /// other cores may be busy. Call it once per run.
  [[nodiscard]] bool skips_run();
  /// Returns the pairs of states that runs have seen last.
  [[nodiscard]] StatePairs pairs() const;
  void keep_pairs(StatePairs pairs);

 private:
  mutable std::mutex mutex_;
  Facts facts_;
  StatePairs pairs_;
  int pause_ = 0;  // runs to skip after the last one that gained nothing
  int runs_to_skip_ = 0;
};

/// A loop that may be speculated.
struct Speculation {
  /// By carried value: its bytes, and what each step adds to it if it is a counter. A guess of a
  /// counter is exact.
  struct State {
    std::int64_t bytes = 0;
    std::optional<std::int64_t> increment;
    bool is_discrete = false;  ///< integers or booleans
  };
  std::vector<State> states;
  std::int64_t state_bytes = 0;  ///< of all states
  double nanoseconds = 0;        ///< estimate of a compiled step
};

/// Returns which of the states tell in which state a recurrence over few states is: the discrete
/// ones that are no counters, or if there are none, all. No states if they have many bytes.
std::vector<bool> states_in_pairs(const Speculation& speculation);

/// Whether so many steps take long enough: waking threads takes up to 0.1 ms.
bool pays_to_speculate(const Speculation& speculation, std::int64_t steps);

}  // namespace scanloom::plan
