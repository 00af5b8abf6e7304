// StopToken: tells a long-running kernel call that its run is to end. The kernel polls it between
// parts of its work, from any of its threads; once told to stop, it leaves the rest undone and
// returns Status::stopped.
#pragma once

#include <atomic>

namespace scanloom::tensor {

class StopToken {
 public:
  /// Polls; once true, stays true. Polling after about every 10 microseconds of work is often
  /// enough, and cheap.
  [[nodiscard]] bool stop_requested() noexcept { return stopped() || poll(); }
  /// Whether a poll of any thread returned true.
  [[nodiscard]] bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }

 protected:
  ~StopToken() = default;
  void set_stopped(bool stopped) noexcept { stopped_.store(stopped, std::memory_order_relaxed); }

 private:
  /// Calls set_stopped(true) and returns true if the run is to end. Thread safe.
  virtual bool poll() noexcept = 0;

  std::atomic<bool> stopped_ = false;
};

}  // namespace scanloom::tensor
