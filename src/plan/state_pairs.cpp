#include "plan/state_pairs.h"

#include <algorithm>

namespace scanloom::plan {
namespace {

constexpr std::int64_t kMinConfirmed = 3;
/// A prediction may be wrong for a few steps, as long as the states have not both changed.
constexpr std::int64_t kMaxRefuted = 4;  // one of so many
constexpr int kMaxWeight = 4;

}  // namespace

void StatePairs::begin(const State& guessed, const State& right) {
  confirmed_ = refuted_ = 0;
  const State* const known = find(guessed);
  if (known != nullptr && *known != right) pairs_.clear();
  note(guessed, right);
  confirmed_ = 0;  // what the first pair confirms is not of this chunk
}

void StatePairs::note(const State& guessed, const State& right) {
  if (is_full_) return;
  const auto found = std::ranges::find(pairs_, guessed, &Pair::guessed);
  if (found == pairs_.end()) {
    is_full_ = pairs_.size() == kMaxPairs;
    if (!is_full_) pairs_.push_back({guessed, right});
    return;
  }
  if (found->right == right) {
    found->weight = std::min(found->weight + 1, kMaxWeight);
    ++confirmed_;
    return;
  }
  ++refuted_;
  if (--found->weight <= 0) *found = {guessed, right};
}

const StatePairs::State* StatePairs::find(const State& guessed) const {
  if (is_full_) return nullptr;
  const auto found = std::ranges::find(pairs_, guessed, &Pair::guessed);
  return found == pairs_.end() ? nullptr : &found->right;
}

bool StatePairs::is_reliable() const {
  return !is_full_ && confirmed_ >= kMinConfirmed && confirmed_ >= kMaxRefuted * refuted_;
}

}  // namespace scanloom::plan
