// Machine code that bindings of one plan share.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/background.h"
#include "base/expected.h"

namespace scanloom::plan {

/// Asked every millisecond while something takes long: its error ends the waiting. Empty: nobody
/// will end it.
using MayGoOn = std::function<Expected<void>()>;

/// Whether an error is that of a MayGoOn, and tells nothing of what was waited for.
inline bool is_of_limits(const Error& error) {
  return error.code() == Code::cancelled || error.code() == Code::limit_reached;
}

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
    std::rotate(entries_.begin(), found, found + 1);
    return entries_.front().second;
  }

  /// The code of `source`; make() is called where it is not known, while other threads go on, which
  /// may make the same. Where somebody may end the waiting, it is called in another thread, and who
  /// asks for the same later gets what came of it: it must need nothing but what it holds.
  template <class Make>
  Expected<Code> get(const Source& source, const MayGoOn& may_go_on, const Make& make) {
    if (std::optional<Expected<Code>> known = find(source)) return *std::move(known);
    if (!may_go_on) return keep(source, make());
    SCANLOOM_CHECK_OK(may_go_on());
    const std::shared_ptr<Job> job = job_of(source, make);
    while (!job->wait_a_little()) SCANLOOM_CHECK_OK(may_go_on());
    return keep(source, *job->made);
  }

 private:
  using Entry = std::pair<Source, Expected<Code>>;

  struct Job {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Expected<Code>> made;

    template <class Make>
    void run(const Make& make) noexcept {
      std::optional<Expected<Code>> result;
      try {
        result = make();
      } catch (const std::exception& exception) {
        result = fail(scanloom::Code::internal, "the compiler failed: {}", exception.what());
      }
      const std::scoped_lock lock(mutex);
      made = std::move(result);
      changed.notify_all();
    }
    /// Whether it is done; then nobody changes `made` any longer.
    bool wait_a_little() {
      std::unique_lock lock(mutex);
      return changed.wait_for(lock, std::chrono::milliseconds(1), [&] { return made.has_value(); });
    }
  };

  /// The one that makes the code of `source`, begun now or before.
  template <class Make>
  std::shared_ptr<Job> job_of(const Source& source, const Make& make) {
    const auto job = std::make_shared<Job>();
    std::function<void()> work = [job, make] { job->run(make); };
    {
      const std::scoped_lock lock(mutex_);
      for (const auto& [of, begun] : jobs_)
        if (of == source) return begun;
      // Of those that nobody has waited for, the first is forgotten.
      if (jobs_.size() == kCodes) jobs_.erase(jobs_.begin());
      jobs_.emplace_back(source, job);
    }
    if (!run_in_background(std::move(work))) job->run(make);
    return job;
  }

  /// But for what may go better another time: there may be more memory then.
  Expected<Code> keep(const Source& source, Expected<Code> made) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(jobs_, [&](const auto& entry) { return entry.first == source; });
    if (!made && made.error().code() == scanloom::Code::internal) return made;
    if (std::ranges::find(entries_, source, &Entry::first) != entries_.end()) return made;
    if (entries_.size() == kCodes) entries_.pop_back();
    entries_.insert(entries_.begin(), {source, made});
    return made;
  }

  std::mutex mutex_;
  std::vector<Entry> entries_;  // the last used first
  std::vector<std::pair<Source, std::shared_ptr<Job>>> jobs_;
};

}  // namespace scanloom::plan
