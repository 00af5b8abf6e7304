// StatePairs: for a recurrence over few states (flags, counters modulo a small number, automata),
// which state the steps in order have where steps from a wrong guess have another one. Such a
// recurrence may never reach the right state from a wrong one, but the two often change together: a
// flag that is toggled is always the opposite one. A pair is a guess, which is verified later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace scanloom::plan {

/// Not thread safe.
class StatePairs {
 public:
  using State = std::vector<std::byte>;
  /// A recurrence with more states than that is not one over few states.
  static constexpr std::size_t kMaxPairs = 16;

  /// Begins a chunk: its guess, and the state that it should have begun with. Pairs that were seen
  /// before are kept unless this one contradicts them.
  void begin(const State& guessed, const State& right);
  /// Adds a pair of states at the same step.
  void note(const State& guessed, const State& right);
  /// Returns the right state, or nullptr if it is not known.
  [[nodiscard]] const State* find(const State& guessed) const;

  /// Whether the pairs have predicted nearly all states of this chunk, and more than a few.
  [[nodiscard]] bool is_reliable() const;
  [[nodiscard]] bool is_empty() const { return pairs_.empty(); }
  /// Whether there are too many states.
  [[nodiscard]] bool is_full() const { return is_full_; }

 private:
  struct Pair {
    State guessed, right;
    int weight = 1;  // how much more often it was seen than contradicted, recently
  };
  std::vector<Pair> pairs_;
  bool is_full_ = false;
  std::int64_t confirmed_ = 0, refuted_ = 0;  // predictions of this chunk
};

}  // namespace scanloom::plan
