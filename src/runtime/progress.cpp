#include "runtime/progress.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "plan/cost.h"

namespace scanloom::runtime {

double seconds_now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

RunProgress::RunProgress(const plan::Binding& binding, std::span<LoopState> loops)
    : binding_(binding), loops_(loops), times_(loops.size()) {}

void RunProgress::begin_run(Profile* profile) {
  steps_ = 0;
  profile_ = profile;
  outermost_ = kNoLoop;
  if (profile == nullptr) return;
  profile->calls.resize(binding_.calls.size());
  profile->dynamic_calls.resize(binding_.dynamic_calls.size());
  profile->object_calls.resize(binding_.object_calls.size());
  profile->loops.resize(binding_.loops.size());
  profile->bodies.resize(binding_.loops.size());
}

void RunProgress::begin_steps(const Watch& watch) {
  for (LoopState& loop : loops_) loop.poll_interval.start(watch.start());
  steps_ = 0;
}

LoopProgress RunProgress::shown_for(std::uint32_t loop) const {
  const std::uint32_t shown = outermost_ == kNoLoop ? loop : outermost_;
  return {shown, loops_[shown].step, loops_[shown].shown};
}

Expected<void> RunProgress::poll(std::uint32_t loop, Watch& watch) {
  LoopState& state = loops_[loop];
  Expected<void> polled = watch.poll(state.step, shown_for(loop), &state.poll_interval);
  if (polled) return {};
  return std::move(polled).error().at(plan::describe(*binding_.plan, binding_.loops[loop].node));
}

Expected<void> RunProgress::poll_in_step(Watch& watch) {
  time_left_ = plan::kChargeBetweenPolls;
  if (outermost_ == kNoLoop) return watch.poll();
  Expected<void> polled = watch.poll(loops_[outermost_].step, shown_for(outermost_));
  if (polled) return {};
  const ir::NodeId node = binding_.loops[outermost_].node;
  return std::move(polled).error().at(plan::describe(*binding_.plan, node));
}

Expected<void> RunProgress::poll_after(ir::NodeId node, const Watch& watch) const {
  Expected<void> polled = watch.poll();
  if (polled) return {};
  return std::move(polled).error().at(plan::describe(*binding_.plan, node));
}

plan::MayGoOn RunProgress::poll_while_compiling(std::uint32_t loop, Watch& watch) const {
  if (!watch.may_stop()) return {};
  return [this, loop, &watch] { return watch.poll(loops_[loop].step, shown_for(loop)); };
}

void RunProgress::arrive() {
  if (outermost_ == kNoLoop) began_ = seconds_now();
}

void RunProgress::begin_loop(std::uint32_t loop, bool steps_follow) {
  if (outermost_ != kNoLoop) return;
  if (steps_follow)
    outermost_ = loop;
  else
    add_time(loop);
}

void RunProgress::end_loop(std::uint32_t loop) {
  if (outermost_ != loop) return;
  outermost_ = kNoLoop;
  add_time(loop);
}

void RunProgress::note_parallel(std::uint32_t loop, int threads) {
  ++times_[loop].shared;
  times_[loop].threads = std::max(times_[loop].threads, threads);
}

void RunProgress::add_time(std::uint32_t loop) {
  LoopTime& time = times_[loop];
  time.last = loops_[loop].step;
  if (profile_ != nullptr) return;
  time.steps += loops_[loop].step;
  time.seconds += seconds();
}

}  // namespace scanloom::runtime
