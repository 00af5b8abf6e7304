#include "runtime/body_run.h"

#include <limits>

#include "plan/cost.h"

namespace scanloom::runtime {

Run::State::BodyRun::BodyRun(State& state, std::uint32_t index, const plan::BodyCode& body,
                             Watch& watch)
    : BodyFrame{state.slots.data(), state.calls.data(), 0, body.numbers.data()},
      state_(state),
      index_(index),
      watch_(watch) {
  const std::int64_t limit = watch.limits().max_steps;
  most_counted = limit >= 0 ? limit : std::numeric_limits<std::int64_t>::max();
  most_endless = limit >= 0 ? limit : ir::kDefaultMaxSteps;
  steps_to_look = state.steps_to_look.data();
  look = look_now;
  if (state.profiled != nullptr) ticks = state.profiled->bodies[index].ticks.data();
  for_loops_inside([&](std::uint32_t loop) { grant(loop); });
}

/// They stand behind it in the list, as they do in its body.
template <class F>
void Run::State::BodyRun::for_loops_inside(F&& f) {
  const std::vector<plan::BoundLoop>& all = state_.binding->loops;
  for (std::uint32_t i = index_ + 1; i < all.size() && all[i].exit < all[index_].exit; ++i) f(i);
}

/// Steps until the next look.
void Run::State::BodyRun::grant(std::uint32_t loop) {
  LoopState& inner = state_.loops[loop];
  inner.granted = steps_to_look[loop] = inner.pace.chunk();
}

/// Counts the steps that were taken; whether it is time to look.
bool Run::State::BodyRun::count(std::uint32_t loop) {
  LoopState& inner = state_.loops[loop];
  const std::int64_t taken = inner.granted - steps_to_look[loop];
  inner.granted = steps_to_look[loop];
  state_.steps += taken;
  return inner.pace.due_after(taken);
}

std::int64_t Run::State::BodyRun::take_steps(const jit::CompiledBody& code, std::int64_t last) {
  time_left = plan::kSpentBetweenLooks;
  const std::int64_t first = state_.loops[index_].step;
  const std::int64_t done = code.run(this, first, last);
  failed_ = done == jit::kBodyFault;
  if (failed_) return done;
  for_loops_inside([&](std::uint32_t loop) { count(loop); });
  state_.loops[index_].step = first;  // which looks have moved on
  return done;
}

void Run::State::BodyRun::look_behind(std::uint32_t loop) {
  const bool is_due = count(loop);
  looked_ = is_due ? state_.look(loop, watch_) : state_.look_in_step(watch_);
  grant(loop);
}

/// Machine code cannot be unwound, so what the user's functions throw waits until it has ended.
bool Run::State::BodyRun::look_now(jit::BodyFrame* frame, std::int64_t loop, std::int64_t steps,
                                   std::int64_t body_step) noexcept {
  auto& self = static_cast<BodyRun&>(*frame);
  self.failed_loop = loop;
  self.state_.loops[self.index_].step = body_step;
  self.state_.loops[static_cast<std::size_t>(loop)].step = steps;
  try {
    self.look_behind(static_cast<std::uint32_t>(loop));
  } catch (...) {
    self.thrown_ = std::current_exception();
  }
  return self.looked_.has_value() && self.thrown_ == nullptr;
}

Expected<void> Run::State::BodyRun::error() {
  if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  state_.find_fault(index_, *this);
  if (failed_call == jit::kStopped) return looked_;
  const auto inner = static_cast<std::uint32_t>(failed_loop);
  if (failed_call == jit::kTooFewSlices)
    return state_.check_slices(state_.binding->loops[inner], failed_trips);
  if (failed_call == jit::kStepLimit) {
    state_.loops[inner].trip = failed_trips;
    state_.loops[inner].limited = true;
    return state_.check_limit(inner);
  }
  const std::uint32_t call = state_.binding->code[state_.failed_at].index;
  return state_.fault_error(state_.binding->calls[call].node);
}

/// Whether a loop inside takes so many steps that it is better off as code of its own, which keeps
/// its states in registers.
bool Run::State::holds_long_loop(std::uint32_t index) const {
  const plan::BoundLoop& loop = binding->loops[index];
  for (std::size_t i = index + 1; i < loops.size() && binding->loops[i].exit < loop.exit; ++i) {
    const bool has_code = (binding->loops[i].may_become_whole() && !loops[i].refused) ||
                          loops[i].body.code.run != nullptr;
    if (has_code && loops[i].longest >= plan::kMinStepsToCompile) return true;
  }
  return false;
}

}  // namespace scanloom::runtime
