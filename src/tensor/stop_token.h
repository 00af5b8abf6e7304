// StopToken: how a kernel whose one call may take long learns that its run is to end. It asks
// between parts of its work, from any of its threads; after a yes it leaves the rest undone and
// returns Status::stopped.
#pragma once

#include <atomic>

namespace scanloom::tensor {

class StopToken {
 public:
  /// Asks. Once the answer was yes it stays so. About every 10 microseconds of work are often
  /// enough, and cheap.
  [[nodiscard]] bool stop_requested() noexcept { return stopped() || poll(); }
  /// Whether any thread was told so.
  [[nodiscard]] bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }

 protected:
  ~StopToken() = default;
  void set_stopped(bool stopped) noexcept { stopped_.store(stopped, std::memory_order_relaxed); }

 private:
  /// Calls set_stopped(true) and returns true where the run is to end. Thread safe.
  virtual bool poll() noexcept = 0;

  std::atomic<bool> stopped_ = false;
};

}  // namespace scanloom::tensor
