// CodeCache: machine code that the bindings of one plan share, keyed by its source. Code that may
// be cancelled is compiled in a background thread. Used by Plan.
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

/// Polled every millisecond during a long wait; an error ends the wait. Empty: the wait cannot be
/// cancelled.
using MayGoOn = std::function<Expected<void>()>;

/// Whether the error comes from a MayGoOn, and so says nothing about the compilation.
inline bool is_of_limits(const Error& error) {
  return error.code() == Code::cancelled || error.code() == Code::limit_reached;
}

/// The kCodes most recently used results, code or error, keyed by source. Thread safe.
template <class Source, class Code>
class CodeCache {
 public:
  static constexpr std::size_t kCodes = 64;

  /// Returns the cached result; nullopt if there is none, or if it was evicted.
  std::optional<Expected<Code>> find(const Source& source) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(entries_, source, &Entry::first);
    if (found == entries_.end()) return std::nullopt;
    std::rotate(entries_.begin(), found, found + 1);
    return entries_.front().second;
  }

  /// Returns the code of `source`, calling make() if it is not cached. The cache is not locked
  /// meanwhile, so other threads may make the same code. With a non-empty `may_go_on`, make() runs
  /// in another thread, may outlive this call, and its result goes to whoever asks next. So it must
  /// own everything it uses.
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
    /// Whether the job is done; then `made` no longer changes.
    bool wait_a_little() {
      std::unique_lock lock(mutex);
      return changed.wait_for(lock, std::chrono::milliseconds(1), [&] { return made.has_value(); });
    }
  };

  /// Returns the job that makes the code of `source`, starting it if needed.
  template <class Make>
  std::shared_ptr<Job> job_of(const Source& source, const Make& make) {
    const auto job = std::make_shared<Job>();
    std::function<void()> work = [job, make] { job->run(make); };
    {
      const std::scoped_lock lock(mutex_);
      for (const auto& [of, begun] : jobs_)
        if (of == source) return begun;
      // Drop the oldest job: its result was never collected.
      if (jobs_.size() == kCodes) jobs_.erase(jobs_.begin());
      jobs_.emplace_back(source, job);
    }
    if (!run_in_background(std::move(work))) job->run(make);
    return job;
  }

  /// Caches the result, except an internal error: a retry may succeed, with more memory available.
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
  std::vector<Entry> entries_;  // most recently used first
  std::vector<std::pair<Source, std::shared_ptr<Job>>> jobs_;
};

}  // namespace scanloom::plan
