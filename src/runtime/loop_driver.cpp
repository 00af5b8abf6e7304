#include "runtime/loop_driver.h"

#include <algorithm>
#include <utility>

namespace scanloom::runtime {

Expected<bool> LoopDriver::arrive(std::uint32_t index, Watch& watch) {
  RunProgress& progress = parts_.progress;
  progress.arrive();
  bool whole = false;
  if (binding_.loops[index].may_become_whole()) {
    SCANLOOM_TRY(whole, parts_.code.try_whole(index, watch));
  }
  bool steps_follow = false;
  if (!whole) {
    SCANLOOM_TRY(steps_follow, begin(index, watch));
  }
  progress.begin_loop(index, steps_follow);
  if (!steps_follow || progress.outermost() != index) return steps_follow;
  SCANLOOM_TRY(const bool taken, parts_.parallel.take_all(index, watch));
  if (taken) SCANLOOM_CHECK_OK(finish(index));
  return !taken;
}

Expected<bool> LoopDriver::begin(std::uint32_t index, Watch& watch) {
  const plan::BoundLoop& loop = binding_.loops[index];
  Values& values = parts_.values;
  SCANLOOM_TRY(const bool runs, parts_.control.enter(index, watch.limits()));
  for (const plan::BoundCarried& port : loop.carried) {
    if (port.in_place) continue;
    const plan::Spot& first = runs ? port.argument : port.final;
    SCANLOOM_CHECK_OK(parts_.tensors.assign(port.initial, first, loop.node, port.moved));
    if (port.buffer_a != plan::kNone) slot(port.next.slot) = slot(port.buffer_a);
  }
  if (!runs) {
    // The sizes of static rows already say zero steps; those of dynamic rows are set here.
    SCANLOOM_CHECK_OK(parts_.rows.make_empty(loop));
    return false;
  }
  // Inner loops of few steps begin so often that each call without effect is noticed.
  if (!loop.scanned.empty()) SCANLOOM_CHECK_OK(begin_slices(loop, 0));
  if (loop.blocks.steps > 0) SCANLOOM_CHECK_OK(parts_.blocks.make(index, watch));
  for (const plan::BoundStacked& port : loop.stacked)
    if (!port.result.is_dynamic() && !port.result.is_object())
      slot(port.row.slot) = values.address(port.result) + port.first_bytes;
  if (loop.stacked.empty())
    parts_.loops[index].room = parts_.loops[index].trip;
  else
    SCANLOOM_CHECK_OK(parts_.rows.begin(index));
  return true;
}

template <bool kIsNext>
Expected<void> LoopDriver::set_slices(const plan::BoundLoop& loop, std::int64_t step) {
  for (const plan::BoundScanned& port : loop.scanned) {
    if (port.argument.is_object()) {
      SCANLOOM_CHECK_OK(parts_.objects.set_slice(port, step, loop.node));
    } else if (port.argument.is_dynamic()) {
      // Not relative to the previous slice, which may have been moved: see first_slice.
      parts_.tensors.set_slice(port, step);
    } else if constexpr (kIsNext) {
      slot(port.argument.slot) += port.step_bytes;
    } else {
      SCANLOOM_TRY(std::byte* const first, parts_.tensors.first_slice(port, loop.node));
      slot(port.argument.slot) = first + step * port.step_bytes;
    }
  }
  return {};
}

Expected<void> LoopDriver::begin_slices(const plan::BoundLoop& loop, std::int64_t step) {
  return set_slices<false>(loop, step);
}

// The code that every step executes is one function, since a nested Expected costs a step of a
// short loop a tenth of its time.
Expected<bool> LoopDriver::end_step(std::uint32_t index, Watch& watch) {
  const plan::BoundLoop& loop = binding_.loops[index];
  LoopState& state = parts_.loops[index];
  bool keeps_going = true;
  if (loop.keep_going.present()) {
    SCANLOOM_TRY(keeps_going, parts_.values.scalar<bool>(loop.keep_going, loop.node));
  }
  for (std::size_t i = 0; i < loop.stacked.size(); ++i) {
    const plan::BoundStacked& port = loop.stacked[i];
    if (port.apart) {
      SCANLOOM_CHECK_OK(parts_.rows.keep(index, i));
    } else if (port.result.is_dynamic() && !port.open) {
      SCANLOOM_CHECK_OK(parts_.rows.append(port, index));
    } else {
      slot(port.row.slot) += port.step_bytes;
    }
  }
  swap_states(loop, state.step == 0);
  ++state.step;
  ++state.stepped;
  parts_.progress.add_steps(1);
  if (state.poll_interval.due()) SCANLOOM_CHECK_OK(parts_.progress.poll(index, watch));
  if (!keeps_going) return false;
  if (state.step >= state.trip) [[unlikely]] {
    SCANLOOM_CHECK_OK(parts_.control.check_limit(index));
    return false;
  }
  if (loop.parallel && state.step == 1) {
    SCANLOOM_TRY(const bool taken, take_in_parallel(index, watch));
    if (taken) return false;
  }
  if (state.step == state.room) SCANLOOM_CHECK_OK(parts_.rows.grow(index));
  SCANLOOM_CHECK_OK(set_slices<true>(loop, state.step));
  if (state.step == state.block_end) SCANLOOM_CHECK_OK(parts_.blocks.make(index, watch));
  const bool is_profiled = parts_.progress.profile() != nullptr;
  if (is_profiled)
    SCANLOOM_CHECK_OK(parts_.code.prepare_timed_body(index, watch));
  else if (state.is_undecided())
    SCANLOOM_CHECK_OK(parts_.code.prepare_body(index, watch));
  if (!state.has_body_code(is_profiled)) return true;
  SCANLOOM_CHECK_OK(parts_.code.run_body(index, watch));
  return false;
}

void LoopDriver::swap_states(const plan::BoundLoop& loop, bool first_step) {
  Values& values = parts_.values;
  for (const plan::BoundCarried& port : loop.carried) {
    if (port.in_place) continue;
    if (port.argument.is_object()) {
      values.object(port.argument) = std::move(values.object(port.next));
      continue;
    }
    std::byte*& argument = slot(port.argument.slot);
    std::byte*& next = slot(port.next.slot);
    std::swap(argument, next);
    if (port.argument.is_dynamic()) {
      std::swap(values.dynamic(port.argument), values.dynamic(port.next));
    } else if (first_step) {
      // The initial value must not be overwritten; from now on the two buffers alternate.
      next = slot(port.buffer_b);
    }
  }
}

Expected<bool> LoopDriver::take_in_parallel(std::uint32_t index, Watch& watch) {
  SCANLOOM_TRY(const bool taken,
               parts_.parallel.take_rest(index, parts_.progress.seconds(), watch));
  if (taken) SCANLOOM_CHECK_OK(parts_.control.check_limit(index));
  return taken;
}

Expected<void> LoopDriver::finish(std::uint32_t index) {
  const plan::BoundLoop& loop = binding_.loops[index];
  LoopState& state = parts_.loops[index];
  Values& values = parts_.values;
  state.longest = std::max(state.longest, state.step);
  for (const plan::BoundCarried& port : loop.carried) {
    if (port.in_place) continue;
    if (port.final.is_object()) {
      values.object(port.final) = std::move(values.object(port.argument));
      continue;
    }
    slot(port.final.slot) = slot(port.argument.slot);
    if (port.final.is_dynamic())
      values.dynamic(port.final) = std::move(values.dynamic(port.argument));
  }
  for (std::size_t i = 0; i < loop.stacked.size(); ++i) {
    const plan::BoundStacked& port = loop.stacked[i];
    if (port.apart)
      SCANLOOM_CHECK_OK(parts_.rows.join(index, i));
    else if (port.result.is_dynamic())
      SCANLOOM_CHECK_OK(parts_.rows.finish(port, state.step, loop.node));
  }
  parts_.progress.end_loop(index);
  return {};
}

}  // namespace scanloom::runtime
