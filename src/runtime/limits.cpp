#include "runtime/limits.h"

#include <algorithm>
#include <utility>

#include "plan/plan.h"

namespace scanloom::runtime {

void PollInterval::polled(Clock::time_point now) {
  using namespace std::chrono_literals;
  constexpr std::int64_t kMax = 1 << 24;
  const auto passed = now - last_;
  if (passed < 100us) interval_ = std::min<std::int64_t>(interval_ * 2, kMax);
  if (passed > 400us) {
    const double share = std::chrono::duration<double>(200us) / passed;
    interval_ = std::max<std::int64_t>(
        static_cast<std::int64_t>(static_cast<double>(interval_) * share), 1);
  }
  countdown_ = interval_;
  last_ = now;
}

Expected<void> Watch::poll(std::int64_t step, const LoopProgress& outermost,
                           PollInterval* interval) {
  using namespace std::chrono_literals;
  const Clock::time_point now = Clock::now();
  if (interval != nullptr) interval->polled(now);
  const bool report = limits_.progress && now - reported_ > 100ms;
  if (may_stop()) SCANLOOM_CHECK_OK(check(now, step));
  if (report) {
    reported_ = now;
    limits_.progress(outermost.loop, outermost.step, outermost.steps);
  }
  return {};
}

Expected<void> Watch::check(Clock::time_point now, std::int64_t step) const {
  call_on_poll(now);
  const auto when = [&] {
    return step < 0 ? "" : fmt::format(" after {}", plan::counted(step, "step"));
  };
  if (limits_.cancelled && limits_.cancelled())
    return fail(Code::cancelled, "the run was cancelled{}", when());
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  if (limits_.deadline_seconds > 0 && elapsed > limits_.deadline_seconds)
    return fail(Code::limit_reached, "the deadline of {} s passed{} ({:.3f} s)",
                limits_.deadline_seconds, when(), elapsed);
  return {};
}

bool KernelWatch::poll() noexcept {
  if (watch_ == nullptr) return false;
  try {
    if (!polled_stop()) return false;
  } catch (...) {
    const std::scoped_lock lock(polling_);
    thrown_ = std::current_exception();
  }
  set_stopped(true);
  return true;
}

bool KernelWatch::polled_stop() {
  using namespace std::chrono_literals;
  const Clock::time_point now = Clock::now();
  watch_->call_on_poll(now);  // the caller's thread, even if it is always another one that polls
  const std::unique_lock lock(polling_, std::try_to_lock);
  if (!lock.owns_lock() || now - polled_ < 500us) return false;
  polled_ = now;
  Expected<void> polled = watch_->poll();
  if (!polled) error_ = std::move(polled).error();
  return error_.has_value();
}

Error KernelWatch::take_error() {
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  Error error = *std::move(error_);
  error_.reset();
  return error;
}

}  // namespace scanloom::runtime
