// StepCounts: per loop, how many steps the runs of a session have stepped. The sum shows that
// compiling pays even if each run takes few steps.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace scanloom::plan {

class StepCounts {
 public:
  using Count = std::atomic<std::int64_t>;
  static constexpr std::size_t kLoops = 256;

  /// Returns the count of the loop with that key. Keeps the kLoops most recently used. Thread safe.
  std::shared_ptr<Count> of(const std::string& loop) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(entries_, loop, &Entry::first);
    if (found != entries_.end()) {
      std::rotate(entries_.begin(), found, found + 1);
      return entries_.front().second;
    }
    if (entries_.size() == kLoops) entries_.pop_back();
    entries_.insert(entries_.begin(), {loop, std::make_shared<Count>(0)});
    return entries_.front().second;
  }

 private:
  using Entry = std::pair<std::string, std::shared_ptr<Count>>;
  std::mutex mutex_;
  std::vector<Entry> entries_;  // most recently used first
};

}  // namespace scanloom::plan
