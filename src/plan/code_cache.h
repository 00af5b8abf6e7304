// Machine code that bindings of one plan share.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/expected.h"

namespace scanloom::plan {

/// The last kCodes codes, or why there is none, by what they were made of. Thread safe.
template <class Source, class Code>
class CodeCache {
 public:
  static constexpr std::size_t kCodes = 64;

  /// nullopt: it was not made, or too long ago.
  std::optional<Expected<Code>> find(const Source& source) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(entries_, source, &Entry::first);
    if (found == entries_.end()) return std::nullopt;
    return found->second;
  }

  /// The code of `source`; make() is called where it is not known, while other threads go on, which
  /// may make the same.
  template <class Make>
  Expected<Code> get(const Source& source, Make&& make) {
    {
      const std::scoped_lock lock(mutex_);
      const auto found = std::ranges::find(entries_, source, &Entry::first);
      if (found != entries_.end()) {
        std::rotate(entries_.begin(), found, found + 1);
        return entries_.front().second;
      }
    }
    Expected<Code> made = make();
    const std::scoped_lock lock(mutex_);
    if (entries_.size() == kCodes) entries_.pop_back();
    entries_.insert(entries_.begin(), {source, made});
    return made;
  }

 private:
  using Entry = std::pair<Source, Expected<Code>>;
  std::mutex mutex_;
  std::vector<Entry> entries_;  // the last used first
};

}  // namespace scanloom::plan
