// LoopFacts: what the runs of a session have learned about each loop, by a key of its own.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace scanloom::plan {

template <class Fact>
class LoopFacts {
 public:
  static constexpr std::size_t kLoops = 256;

  /// Returns the fact of the loop with that key, a new one at first. Keeps the kLoops most recently
  /// used. Thread safe.
  std::shared_ptr<Fact> of(const std::string& loop) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(entries_, loop, &Entry::first);
    if (found != entries_.end()) {
      std::rotate(entries_.begin(), found, found + 1);
      return entries_.front().second;
    }
    if (entries_.size() == kLoops) entries_.pop_back();
    entries_.insert(entries_.begin(), {loop, std::make_shared<Fact>()});
    return entries_.front().second;
  }

 private:
  using Entry = std::pair<std::string, std::shared_ptr<Fact>>;
  std::mutex mutex_;
  std::vector<Entry> entries_;  // most recently used first
};

}  // namespace scanloom::plan
