// Steps of loops as machine code: of a body, which takes over at the beginning of a step and is
// made once steps have shown that it pays, and of loops that are one function.
#include <algorithm>
#include <limits>

#include "runtime/body_run.h"

namespace scanloom::runtime {

plan::MayGoOn Run::State::while_compiling(std::uint32_t index, Watch& watch) {
  if (!watch.may_stop()) return {};
  return [this, index, &watch] {
    const std::uint32_t told = outermost == kNoLoop ? index : outermost;
    return watch.look(loops[index].step, {told, loops[told].step, loops[told].shown});
  };
}

/// Compiles the body, on which is not decided yet, once its steps show that this pays. Allocates
/// and takes a lock, once per Run.
Expected<void> Run::State::prepare_body(std::uint32_t index, Watch& watch) {
  LoopState& state = loops[index];
  const plan::BoundLoop& loop = binding->loops[index];
  if (stepped(index) < loop.per_step.steps_to_compile) return {};
  state.body_decided = true;
  if (binding->plan->options.compiler == nullptr || holds_long_loop(index)) return {};
  const double before = seconds_now();
  Expected<void> done = loop.per_step.sections.empty()
                            ? compile_body(index, while_compiling(index, watch))
                            : compile_sections(index, while_compiling(index, watch));
  began += seconds_now() - before;  // no time of a step
  if (!done) {
    state.body_decided = false;  // another run may have the time
    return std::move(done).error().at(describe(loop.node));
  }
  return look(index, watch);
}

/// Error: that of limits; what cannot be compiled is stepped.
Expected<void> Run::State::compile_body(std::uint32_t index, const plan::MayGoOn& may_go_on) {
  Expected<plan::BodyCode> body =
      plan::compile_body(*binding->plan, *binding, binding->loops[index], may_go_on);
  if (!body && plan::is_of_limits(body.error())) return std::move(body).error();
  if (body) loops[index].body = *std::move(body);
  return {};
}

/// As above, where the code would have taken over in another run.
Expected<void> Run::State::prepare_timed_body(std::uint32_t index, Watch& watch) {
  LoopState& state = loops[index];
  const plan::BoundLoop& loop = binding->loops[index];
  if (binding->plan->options.compiler == nullptr) return {};
  if (!state.timed_decided) {
    if (state.body.code.run == nullptr &&
        (state.body_decided || stepped(index) < loop.per_step.steps_to_compile))
      return {};
    state.timed_decided = true;
    const double before = seconds_now();
    Expected<plan::TimedBody> body =
        plan::compile_timed_body(*binding->plan, *binding, loop, while_compiling(index, watch));
    const double taken = seconds_now() - before;
    began += taken;  // no time of a step
    profiled->loops[index].seconds -= taken;
    if (outermost != kNoLoop && outermost != index) profiled->loops[outermost].seconds -= taken;
    if (!body && plan::is_of_limits(body.error())) {
      state.timed_decided = false;
      return std::move(body).error().at(describe(loop.node));
    }
    if (body) state.timed = *std::move(body);
    SCANLOOM_CHECK_OK(look(index, watch));
  }
  Profile::Body& times = profiled->bodies[index];
  if (times.nodes.empty()) times.nodes = state.timed.nodes;
  times.ticks.resize(times.nodes.size());
  return {};
}

/// Runs all steps that are left, `run_steps(last)` those up to `last`: it returns what a
/// jit::CompiledLoopFn does.
template <class F>
Expected<void> Run::State::run_chunks(std::uint32_t index, Watch& watch, F&& run_steps) {
  LoopState& state = loops[index];
  const std::int64_t steps_inside = 1 + binding->loops[index].per_step.inner_steps;
  while (state.step < state.trip) {
    if (state.step == state.room) SCANLOOM_CHECK_OK(grow_rows(index));
    if (state.step == state.block_end) SCANLOOM_CHECK_OK(make_block(index, watch));
    const std::int64_t end = std::min({state.trip, state.room, state.block_end});
    const std::int64_t last =
        end - state.step > state.pace.chunk() ? state.step + state.pace.chunk() : end;
    const std::int64_t done = run_steps(last);
    if (done == jit::kBodyFault) return {};  // see run_body
    const std::int64_t reached = done < 0 ? -1 - done : done;
    const bool due = state.pace.due_after(reached - state.step);
    const bool is_short = reached < last;  // the code has spent its time
    steps += (reached - state.step) * steps_inside;
    state.step = reached;
    if (done < 0) return {};
    if (due)
      SCANLOOM_CHECK_OK(look(index, watch));
    else if (is_short)
      SCANLOOM_CHECK_OK(look_in_step(watch));
  }
  return check_limit(index);
}

Expected<void> Run::State::run_body(std::uint32_t index, Watch& watch) {
  const LoopState& state = loops[index];
  const plan::BodyCode& body = profiled == nullptr ? state.body : state.timed.body;
  BodyRun run(*this, index, body, watch);
  const std::int64_t first = state.step;
  double seconds = 0;  // of the steps, without the blocks of rows that are made between them
  const Expected<void> ran = run_chunks(index, watch, [&](std::int64_t last) {
    const double before = profiled == nullptr ? 0 : seconds_now();
    const std::int64_t reached = run.take_steps(body.code, last);
    if (profiled != nullptr) seconds += seconds_now() - before;
    return reached;
  });
  if (profiled != nullptr) {
    profiled->bodies[index].steps += state.step - first;
    profiled->bodies[index].seconds += seconds;
  }
  return run.has_failed() ? run.error() : ran;
}

bool Run::State::pays_whole(std::uint32_t index, std::int64_t steps) const {
  const plan::BoundLoop& loop = binding->loops[index];
  const std::int64_t before = stepped(index);
  if (before >= loop.whole->steps_to_whole) return true;
  // A condition may end it after a few steps. One that goes on for long is compiled step by step.
  const std::int64_t least = plan::least_steps(binding->plan->options);
  if (loop.keep_going.present() && least > 1)
    return loops[index].longest >= least && steps >= loop.whole->steps_at_once;
  return steps >= loop.whole->steps_at_once || steps >= loop.whole->steps_to_whole - before;
}

Expected<bool> Run::State::run_whole(std::uint32_t index, const Limits& limits, Watch& watch) {
  const plan::BoundLoop& loop = binding->loops[index];
  LoopState& state = loops[index];
  if (!loop.may_become_whole() || state.refused) return false;
  constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();
  if (!pays_whole(index, loop.trip_count >= 0 ? loop.trip_count : kMany)) return false;
  SCANLOOM_TRY(const bool runs, enter(index, limits));
  if (!runs || !pays_whole(index, state.trip)) return false;
  if (state.compiled.run == nullptr) {
    const double before = seconds_now();
    Expected<jit::CompiledLoop> compiled =
        plan::compile_loop(*binding->plan, *loop.whole->source, while_compiling(index, watch));
    const double compiling = seconds_now() - before;  // no time of a step
    began += compiling;
    if (profiled != nullptr) profiled->loops[index].seconds -= compiling;
    if (!compiled && plan::is_of_limits(compiled.error()))
      return std::move(compiled).error().at(describe(loop.node));
    state.refused = !compiled;
    if (!compiled) return false;
    state.compiled = *std::move(compiled);
  }
  SCANLOOM_CHECK_OK(run_compiled(index, limits, watch));
  state.longest = std::max(state.longest, state.step);
  return true;
}

Expected<void> Run::State::run_compiled(std::uint32_t index, const Limits& limits, Watch& watch) {
  const plan::BoundLoop& loop = binding->loops[index];
  LoopState& state = loops[index];
  SCANLOOM_TRY(const bool runs, enter(index, limits));
  for (const plan::BoundCarried& port : loop.carried) slot(port.final.slot) = address(port.initial);
  if (!runs) return empty_rows(loop);
  SCANLOOM_CHECK_OK(begin_rows(index));
  for (std::size_t i = 0; i < loop.whole->captured.size(); ++i)
    state.captured[i] = address(loop.whole->captured[i]);
  for (std::size_t i = 0; i < loop.scanned.size(); ++i) {
    SCANLOOM_TRY(state.scanned[i], first_slice(loop.scanned[i], loop.node));
  }
  for (std::size_t i = 0; i < loop.stacked.size(); ++i)
    if (!loop.stacked[i].open)
      state.stacked[i] = address(loop.stacked[i].result) + loop.stacked[i].first_bytes;
  const jit::LoopFrame frame{state.captured.data(),        state.carried_in.data(),
                             state.carried_out.data(),     state.scanned.data(),
                             state.scanned_strides.data(), state.stacked.data(),
                             state.stacked_strides.data()};
  bool flip = false;
  const auto run_steps = [&](std::int64_t last) {
    for (std::size_t i = 0; i < loop.blocks.ports.size(); ++i)
      if (loop.blocks.ports[i])
        state.scanned[i] =
            slot(loop.scanned[i].argument.slot) - state.block_first * loop.scanned[i].step_bytes;
    for (std::size_t i = 0; i < loop.stacked.size(); ++i)
      if (loop.stacked[i].open) state.stacked[i] = slot(loop.stacked[i].result.slot);
    for (std::size_t i = 0; i < loop.carried.size(); ++i) {
      const plan::BoundCarried& port = loop.carried[i];
      state.carried_in[i] = slot(port.final.slot);
      state.carried_out[i] = slot(flip ? port.buffer_b : port.buffer_a);
      slot(port.final.slot) = state.carried_out[i];
    }
    flip = !flip;
    return state.compiled.run(&frame, state.step, last);
  };
  SCANLOOM_CHECK_OK(run_chunks(index, watch, run_steps));
  for (const plan::BoundStacked& port : loop.stacked)
    if (port.open) SCANLOOM_CHECK_OK(finish_rows(port, state.step, loop.node));
  return {};
}

}  // namespace scanloom::runtime
