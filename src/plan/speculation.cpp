#include "plan/speculation.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace scanloom::plan {
namespace {

constexpr double kMinNanoseconds = 1e6;
/// Below this gain the next runs are not speculated: one at first, then twice as many each time.
constexpr double kMinGain = 1.05;
constexpr int kMaxPause = 64;
/// The number of steps needed is forgotten slowly, since data differ.
constexpr std::int64_t kMemory = 16;
/// The lead changes by this fraction of what a run shows, and of a chunk at most. It is no more
/// than `kShareOfLead` of one. Where threads end further apart than `kShareOfDelay`, another
/// program has had a core; this is more than what a wrong lead and the time to wake can amount to.
constexpr std::int64_t kShareOfLate = 4, kShareOfChunk = 128, kShareOfLead = 32, kShareOfDelay = 8;
/// Maximum bytes of a state in a pair: a few flags, the state of an automaton.
constexpr std::int64_t kMaxBytesInPair = 64;

}  // namespace

SpeculationRecord::Facts SpeculationRecord::facts() const {
  const std::scoped_lock lock(mutex_);
  return facts_;
}

bool SpeculationRecord::may_pay(std::int64_t steps) const {
  const std::scoped_lock lock(mutex_);
  return facts_.failed_since < kMaxFailures || steps / kMuchLonger > facts_.in_vain;
}

void SpeculationRecord::note_agreed(std::int64_t needed) {
  const std::scoped_lock lock(mutex_);
  ++facts_.agreed;
  ++facts_.agreed_since;
  facts_.failed_since = 0;
  facts_.needed = std::max(needed, facts_.needed - (facts_.needed - needed) / kMemory);
}

void SpeculationRecord::note_redone() {
  const std::scoped_lock lock(mutex_);
  ++facts_.redone;
  facts_.failed_since = 0;
  facts_.agreed_since = 0;
}

void SpeculationRecord::note_failed(std::int64_t steps) {
  const std::scoped_lock lock(mutex_);
  ++facts_.failed;
  ++facts_.failed_since;
  facts_.agreed_since = 0;
  facts_.in_vain = std::max(facts_.in_vain, steps);
}

void SpeculationRecord::note_lead(std::int64_t late, std::int64_t of_chunk) {
  const std::scoped_lock lock(mutex_);
  if (std::abs(late) > of_chunk / kShareOfDelay) return;
  const std::int64_t most = of_chunk / kShareOfLead, at_once = of_chunk / kShareOfChunk;
  const std::int64_t change = std::clamp(late / kShareOfLate, -at_once, at_once);
  facts_.lead = std::clamp(facts_.lead + change, -most, most);
}

void SpeculationRecord::note_gain(double gain) {
  const std::scoped_lock lock(mutex_);
  facts_.gain = facts_.gain > 0 ? facts_.gain + (gain - facts_.gain) / 4 : gain;
  pause_ = gain >= kMinGain ? 0 : std::clamp(2 * pause_, 1, kMaxPause);
  runs_to_skip_ = pause_;
}

bool SpeculationRecord::skips_run() {
  const std::scoped_lock lock(mutex_);
  return runs_to_skip_ > 0 && runs_to_skip_-- > 0;
}

StatePairs SpeculationRecord::pairs() const {
  const std::scoped_lock lock(mutex_);
  return pairs_;
}

void SpeculationRecord::keep_pairs(StatePairs pairs) {
  const std::scoped_lock lock(mutex_);
  pairs_ = std::move(pairs);
}

std::vector<bool> states_in_pairs(const Speculation& speculation) {
  using State = Speculation::State;
  const bool any = std::ranges::any_of(
      speculation.states, [](const State& state) { return state.is_discrete && !state.increment; });
  std::vector<bool> in_pairs;
  std::int64_t bytes = 0;
  for (const State& state : speculation.states) {
    in_pairs.push_back(!state.increment && (state.is_discrete || !any));
    if (in_pairs.back()) bytes += state.bytes;
  }
  if (bytes > kMaxBytesInPair) in_pairs.assign(in_pairs.size(), false);
  return in_pairs;
}

bool pays_to_speculate(const Speculation& speculation, std::int64_t steps) {
  return static_cast<double>(steps) * speculation.nanoseconds >= kMinNanoseconds;
}

}  // namespace scanloom::plan
