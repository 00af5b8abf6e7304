// PacedPoll: polls the StopToken of a kernel call in loops whose rounds take much less time than a
// poll, at the cost of a subtraction for each.
#pragma once

#include <cstdint>

#include "tensor/call.h"

namespace scanloom::tensor {

/// For one thread of a call.
class PacedPoll {
 public:
  explicit PacedPoll(const Call& call) : stop_(call.stop) {}
  /// Counts the work of the next round, in operations on elements. Returns whether to leave it and
  /// all that follow undone; the call then returns Call::ok_or_stopped().
  [[nodiscard]] bool stops(std::int64_t work) noexcept {
    left_ -= work;
    return left_ < 0 && stop_ != nullptr && is_due();
  }

 private:
  static constexpr std::int64_t kBetweenPolls = 50'000;

  bool is_due() noexcept {
    if (stop_->stop_requested()) return true;
    left_ = kBetweenPolls;
    return false;
  }

  StopToken* stop_;
  std::int64_t left_ = kBetweenPolls;
};

}  // namespace scanloom::tensor
