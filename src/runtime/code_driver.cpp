#include "runtime/code_driver.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "plan/cost.h"

namespace scanloom::runtime {

CodeDriver::CodeDriver(const Parts& parts)
    : parts_(parts), binding_(parts.values.binding), polls_(parts.loops.size()) {}

Expected<void> CodeDriver::prepare_body(std::uint32_t index, Watch& watch) {
  LoopState& state = parts_.loops[index];
  const plan::BoundLoop& loop = binding_.loops[index];
  if (state.all_stepped() < loop.per_step.steps_to_compile) return {};
  state.stepping = SteppedLoop{.is_decided = true};
  if (binding_.plan->options.compiler == nullptr || holds_long_loop(index)) return {};
  const double before = seconds_now();
  const plan::MayGoOn may_go_on = parts_.progress.poll_while_compiling(index, watch);
  Expected<void> done = loop.per_step.outlined_regions.empty()
                            ? compile_body(index, may_go_on)
                            : parts_.regions.compile(index, may_go_on);
  parts_.progress.exclude(seconds_now() - before);
  if (!done) {
    state.stepping = SteppedLoop{};  // another run may have enough time
    return std::move(done).error().at(parts_.values.describe(loop.node));
  }
  return parts_.progress.poll(index, watch);
}

Expected<void> CodeDriver::compile_body(std::uint32_t index, const plan::MayGoOn& may_go_on) {
  Expected<plan::BodyCode> body =
      plan::compile_body(*binding_.plan, binding_, binding_.loops[index], may_go_on);
  if (!body && plan::is_of_limits(body.error())) return std::move(body).error();
  if (body) parts_.loops[index].stepping = PerStepLoop{*std::move(body)};
  return {};
}

bool CodeDriver::holds_long_loop(std::uint32_t index) const {
  const plan::BoundLoop& loop = binding_.loops[index];
  for (std::size_t i = index + 1; i < binding_.loops.size() && binding_.loops[i].exit < loop.exit;
       ++i) {
    const LoopState& inner = parts_.loops[i];
    const bool has_code =
        (binding_.loops[i].may_become_whole() && inner.whole) || inner.body_code() != nullptr;
    if (has_code && inner.longest >= plan::kMinStepsToCompile) return true;
  }
  return false;
}

Expected<void> CodeDriver::prepare_timed_body(std::uint32_t index, Watch& watch) {
  LoopState& state = parts_.loops[index];
  if (binding_.plan->options.compiler == nullptr) return {};
  if (!state.timed) {
    const bool would_take_over =
        state.is_undecided()
            ? state.all_stepped() >= binding_.loops[index].per_step.steps_to_compile
            : state.body_code() != nullptr;
    if (!would_take_over) return {};
    SCANLOOM_CHECK_OK(compile_timed_body(index, watch));
  }
  Profile::Body& times = parts_.progress.profile()->bodies[index];
  if (times.nodes.empty()) times.nodes = state.timed->nodes;
  times.ticks.resize(times.nodes.size());
  return {};
}

Expected<void> CodeDriver::compile_timed_body(std::uint32_t index, Watch& watch) {
  const plan::BoundLoop& loop = binding_.loops[index];
  const double before = seconds_now();
  Expected<plan::TimedBody> body = plan::compile_timed_body(
      *binding_.plan, binding_, loop, parts_.progress.poll_while_compiling(index, watch));
  const double taken = seconds_now() - before;
  parts_.progress.exclude(taken);
  Profile& profile = *parts_.progress.profile();
  profile.loops[index].seconds -= taken;
  const std::uint32_t outermost = parts_.progress.outermost();
  if (outermost != RunProgress::kNoLoop && outermost != index)
    profile.loops[outermost].seconds -= taken;
  if (!body && plan::is_of_limits(body.error()))
    return std::move(body).error().at(parts_.values.describe(loop.node));
  parts_.loops[index].timed = body ? *std::move(body) : plan::TimedBody{};
  return parts_.progress.poll(index, watch);
}

template <class F>
Expected<void> CodeDriver::run_chunks(std::uint32_t index, Watch& watch, F&& run_steps) {
  LoopState& state = parts_.loops[index];
  PollInterval& interval = state.poll_interval;
  const std::int64_t steps_inside = 1 + binding_.loops[index].per_step.inner_steps;
  while (state.step < state.trip) {
    if (state.step == state.room) SCANLOOM_CHECK_OK(parts_.rows.grow(index));
    if (state.step == state.block_end) SCANLOOM_CHECK_OK(parts_.blocks.make(index, watch));
    const std::int64_t end = std::min({state.trip, state.room, state.block_end});
    const std::int64_t last =
        end - state.step > interval.chunk() ? state.step + interval.chunk() : end;
    const std::int64_t done = run_steps(last);
    if (done == jit::kBodyFault) return {};  // see run_body
    const std::int64_t reached = done < 0 ? -1 - done : done;
    const bool due = interval.due_after(reached - state.step);
    const bool is_short = reached < last;  // the code has spent its time
    parts_.progress.add_steps((reached - state.step) * steps_inside);
    state.step = reached;
    if (done < 0) return {};
    if (due)
      SCANLOOM_CHECK_OK(parts_.progress.poll(index, watch));
    else if (is_short)
      SCANLOOM_CHECK_OK(parts_.progress.poll_in_step(watch));
  }
  return parts_.control.check_limit(index);
}

Expected<void> CodeDriver::run_body(std::uint32_t index, Watch& watch) {
  const LoopState& state = parts_.loops[index];
  Profile* const profile = parts_.progress.profile();
  const plan::BodyCode& body = profile == nullptr ? *state.body_code() : state.timed->body;
  BodyRun run(
      {parts_.values, parts_.kernels, parts_.progress, parts_.control, polls_, parts_.loops}, index,
      body, watch);
  if (profile == nullptr) {
    SCANLOOM_TRY(const bool speculated, parts_.speculated.take_body(index, body, watch));
    if (speculated) return {};
  }
  const std::int64_t first = state.step;
  double seconds = 0;  // of the steps, excluding the blocks of rows computed between them
  const Expected<void> ran = run_chunks(index, watch, [&](std::int64_t last) {
    const double before = profile == nullptr ? 0 : seconds_now();
    const std::int64_t reached = run.take_steps(body.code, last);
    if (profile != nullptr) seconds += seconds_now() - before;
    return reached;
  });
  if (profile != nullptr) {
    profile->bodies[index].steps += state.step - first;
    profile->bodies[index].seconds += seconds;
  }
  return run.has_failed() ? run.error() : ran;
}

bool CodeDriver::whole_pays(std::uint32_t index, std::int64_t steps) const {
  const plan::BoundLoop& loop = binding_.loops[index];
  const std::int64_t before = parts_.loops[index].all_stepped();
  if (before >= loop.whole->steps_to_whole_loop) return true;
  // A condition may end the loop after a few steps. A long one is compiled per step later.
  const std::int64_t least = plan::min_steps(binding_.plan->options);
  if (loop.keep_going.present() && least > 1)
    return parts_.loops[index].longest >= least && steps >= loop.whole->steps_at_once;
  return steps >= loop.whole->steps_at_once || steps >= loop.whole->steps_to_whole_loop - before;
}

Expected<bool> CodeDriver::try_whole(std::uint32_t index, Watch& watch) {
  const plan::BoundLoop& loop = binding_.loops[index];
  LoopState& state = parts_.loops[index];
  if (!loop.may_become_whole() || !state.whole) return false;
  constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();
  if (!whole_pays(index, loop.trip_count >= 0 ? loop.trip_count : kMany)) return false;
  SCANLOOM_TRY(const bool runs, parts_.control.enter(index, watch.limits()));
  if (!runs || !whole_pays(index, state.trip)) return false;
  if (state.whole->code.run == nullptr) SCANLOOM_CHECK_OK(compile_whole_loop(index, watch));
  if (!state.whole) return false;
  SCANLOOM_CHECK_OK(run_compiled(index, watch));
  state.longest = std::max(state.longest, state.step);
  return true;
}

Expected<void> CodeDriver::compile_whole_loop(std::uint32_t index, Watch& watch) {
  const plan::BoundLoop& loop = binding_.loops[index];
  LoopState& state = parts_.loops[index];
  const double before = seconds_now();
  Expected<jit::CompiledLoop> compiled = plan::compile_loop(
      *binding_.plan, *loop.whole->source, parts_.progress.poll_while_compiling(index, watch));
  const double taken = seconds_now() - before;
  parts_.progress.exclude(taken);
  if (Profile* const profile = parts_.progress.profile()) profile->loops[index].seconds -= taken;
  if (!compiled && plan::is_of_limits(compiled.error()))
    return std::move(compiled).error().at(parts_.values.describe(loop.node));
  if (compiled)
    state.whole->code = *std::move(compiled);
  else
    state.whole.reset();
  return {};
}

Expected<void> CodeDriver::run_compiled(std::uint32_t index, Watch& watch) {
  const plan::BoundLoop& loop = binding_.loops[index];
  LoopState& state = parts_.loops[index];
  Values& values = parts_.values;
  SCANLOOM_TRY(const bool runs, parts_.control.enter(index, watch.limits()));
  for (const plan::BoundCarried& port : loop.carried)
    values.slot(port.final.slot) = values.address(port.initial);
  if (!runs) return parts_.rows.make_empty(loop);
  SCANLOOM_CHECK_OK(parts_.rows.begin(index));
  WholeLoop& whole = *state.whole;
  SCANLOOM_CHECK_OK(set_operands(index, whole));
  if (state.step == state.block_end) SCANLOOM_CHECK_OK(parts_.blocks.make(index, watch));
  set_moved_operands(index, whole);
  SCANLOOM_TRY(const bool speculated, parts_.speculated.take_whole(index, whole, watch));
  if (speculated) return finish_open_rows(index);
  const jit::LoopFrame frame{whole.captured.data(),        whole.carried_in.data(),
                             whole.carried_out.data(),     whole.scanned.data(),
                             whole.scanned_strides.data(), whole.stacked.data(),
                             whole.stacked_strides.data()};
  bool flip = false;
  SCANLOOM_CHECK_OK(run_chunks(index, watch, [&](std::int64_t last) {
    set_moved_operands(index, whole);
    set_states(index, whole, std::exchange(flip, !flip));
    return whole.code.run(&frame, state.step, last);
  }));
  return finish_open_rows(index);
}

Expected<void> CodeDriver::finish_open_rows(std::uint32_t index) {
  const plan::BoundLoop& loop = binding_.loops[index];
  for (const plan::BoundStacked& port : loop.stacked)
    if (port.open) SCANLOOM_CHECK_OK(parts_.rows.finish(port, parts_.loops[index].step, loop.node));
  return {};
}

Expected<void> CodeDriver::set_operands(std::uint32_t index, WholeLoop& whole) {
  const plan::BoundLoop& loop = binding_.loops[index];
  for (std::size_t i = 0; i < loop.whole->captured.size(); ++i)
    whole.captured[i] = parts_.values.address(loop.whole->captured[i]);
  for (std::size_t i = 0; i < loop.scanned.size(); ++i) {
    SCANLOOM_TRY(whole.scanned[i], parts_.tensors.first_slice(loop.scanned[i], loop.node));
  }
  for (std::size_t i = 0; i < loop.stacked.size(); ++i)
    if (!loop.stacked[i].open)
      whole.stacked[i] =
          parts_.values.address(loop.stacked[i].result) + loop.stacked[i].first_bytes;
  return {};
}

void CodeDriver::set_moved_operands(std::uint32_t index, WholeLoop& whole) {
  const plan::BoundLoop& loop = binding_.loops[index];
  Values& values = parts_.values;
  const std::int64_t block_first = parts_.loops[index].block_first;
  for (std::size_t i = 0; i < loop.blocks.ports.size(); ++i)
    if (loop.blocks.ports[i])
      whole.scanned[i] =
          values.slot(loop.scanned[i].argument.slot) - block_first * loop.scanned[i].step_bytes;
  for (std::size_t i = 0; i < loop.stacked.size(); ++i)
    if (loop.stacked[i].open) whole.stacked[i] = values.slot(loop.stacked[i].result.slot);
}

void CodeDriver::set_states(std::uint32_t index, WholeLoop& whole, bool flip) {
  const plan::BoundLoop& loop = binding_.loops[index];
  Values& values = parts_.values;
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    const plan::BoundCarried& port = loop.carried[i];
    whole.carried_in[i] = values.slot(port.final.slot);
    whole.carried_out[i] = values.slot(flip ? port.buffer_b : port.buffer_a);
    values.slot(port.final.slot) = whole.carried_out[i];
  }
}

}  // namespace scanloom::runtime
