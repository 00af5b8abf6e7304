#include "runtime/body_run.h"

#include <limits>

#include "plan/cost.h"
#include "runtime/failed_steps.h"

namespace scanloom::runtime {

BodyRun::BodyRun(const Parts& parts, std::uint32_t loop, const plan::BodyCode& body, Watch& watch)
    : BodyFrame{parts.values.slots.data(), parts.kernels.data(), 0, body.parameters.data()},
      parts_(parts),
      binding_(parts.values.binding),
      index_(loop),
      watch_(watch) {
  const std::int64_t limit = watch.limits().max_steps;
  max_counted = limit >= 0 ? limit : std::numeric_limits<std::int64_t>::max();
  max_endless = limit >= 0 ? limit : ir::kDefaultMaxSteps;
  steps_to_poll = parts.polls.left.data();
  poll = poll_now;
  if (Profile* const profile = parts.progress.profile()) ticks = profile->bodies[loop].ticks.data();
  for_loops_inside([&](std::uint32_t inner) { grant(inner); });
}

/// Inner loops follow their loop in the list of loops, as they do in its body.
template <class F>
void BodyRun::for_loops_inside(F&& f) {
  const std::vector<plan::BoundLoop>& all = binding_.loops;
  for (std::uint32_t i = index_ + 1; i < all.size() && all[i].exit < all[index_].exit; ++i) f(i);
}

void BodyRun::grant(std::uint32_t loop) {
  parts_.polls.granted[loop] = steps_to_poll[loop] = parts_.loops[loop].poll_interval.chunk();
}

bool BodyRun::count(std::uint32_t loop) {
  std::int64_t& granted = parts_.polls.granted[loop];
  const std::int64_t taken = granted - steps_to_poll[loop];
  granted = steps_to_poll[loop];
  parts_.progress.add_steps(taken);
  return parts_.loops[loop].poll_interval.due_after(taken);
}

std::int64_t BodyRun::take_steps(const jit::CompiledBody& code, std::int64_t last) {
  time_left = plan::kChargeBetweenPolls;
  LoopState& state = parts_.loops[index_];
  const std::int64_t first = state.step;
  const std::int64_t done = code.run(this, first, last);
  failed_ = done == jit::kBodyFault;
  if (failed_) return done;
  for_loops_inside([&](std::uint32_t loop) { count(loop); });
  state.step = first;  // polls have advanced it
  return done;
}

void BodyRun::poll_after(std::uint32_t loop) {
  const bool is_due = count(loop);
  polled_ = is_due ? parts_.progress.poll(loop, watch_) : parts_.progress.poll_in_step(watch_);
  grant(loop);
}

/// Machine code cannot be unwound, so an exception from a user's callback waits until it returns.
bool BodyRun::poll_now(jit::BodyFrame* frame, std::int64_t loop, std::int64_t steps,
                       std::int64_t body_step) noexcept {
  auto& self = static_cast<BodyRun&>(*frame);
  self.failed_loop = loop;
  self.parts_.loops[self.index_].step = body_step;
  self.parts_.loops[static_cast<std::size_t>(loop)].step = steps;
  try {
    self.poll_after(static_cast<std::uint32_t>(loop));
  } catch (...) {
    self.thrown_ = std::current_exception();
  }
  return self.polled_.has_value() && self.thrown_ == nullptr;
}

Expected<void> BodyRun::error() {
  if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  const std::uint32_t at = find_failed(binding_, parts_.loops, index_, *this);
  parts_.progress.set_failed_at(at);
  if (failed_call == jit::kStopped) return polled_;
  const auto inner = static_cast<std::uint32_t>(failed_loop);
  if (failed_call == jit::kTooFewSlices)
    return parts_.control.check_slices(binding_.loops[inner], failed_trips);
  if (failed_call == jit::kStepLimit) {
    parts_.loops[inner].trip = failed_trips;
    parts_.loops[inner].limited = true;
    return parts_.control.check_limit(inner);
  }
  return parts_.kernels.error(binding_.calls[binding_.code[at].index].node);
}

}  // namespace scanloom::runtime
