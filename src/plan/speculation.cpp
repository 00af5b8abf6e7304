#include "plan/speculation.h"

#include <algorithm>

namespace scanloom::plan {
namespace {

constexpr double kMinNanoseconds = 1e6;
/// Below this gain the next runs are not speculated: one at first, then twice as many each time.
constexpr double kMinGain = 1.05;
constexpr int kMaxPause = 64;
/// The number of steps needed is forgotten slowly, since data differ.
constexpr std::int64_t kMemory = 16;

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
  facts_.failed_since = 0;
  facts_.needed = std::max(needed, facts_.needed - (facts_.needed - needed) / kMemory);
}

void SpeculationRecord::note_failed(std::int64_t steps) {
  const std::scoped_lock lock(mutex_);
  ++facts_.failed;
  ++facts_.failed_since;
  facts_.in_vain = std::max(facts_.in_vain, steps);
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

bool pays_to_speculate(const Speculation& speculation, std::int64_t steps) {
  return static_cast<double>(steps) * speculation.nanoseconds >= kMinNanoseconds;
}

}  // namespace scanloom::plan
