// Loops: entering, stepping and leaving. Per step: move the slots of slices and rows, swap the
// slots of states; no allocation, look-up, lock or virtual call, but for the one step of a Run in
// which the code of a body is made (loop_code.cpp).
#include <algorithm>
#include <limits>

#include "kernels/contract_beside.h"
#include "plan/cost.h"
#include "plan/port_names.h"
#include "runtime/state.h"
#include "tensor/fixed_sizes.h"

namespace scanloom::runtime {

void Run::State::begin_counts() {
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const auto& count = binding->loops[i].stepped;
    loops[i].before = count ? count->load(std::memory_order_relaxed) : 0;
    loops[i].stepped = 0;
  }
}

void Run::State::add_counts() {
  for (std::size_t i = 0; i < loops.size(); ++i)
    if (loops[i].stepped > 0 && binding->loops[i].stepped)
      binding->loops[i].stepped->fetch_add(loops[i].stepped, std::memory_order_relaxed);
}

/// Reads the trip count and the first condition; whether any step runs.
Expected<bool> Run::State::enter(std::uint32_t index, const Limits& limits) {
  const plan::BoundLoop& loop = binding->loops[index];
  LoopState& state = loops[index];
  constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();
  state.step = 0;
  state.block_end = loop.blocks.steps > 0 ? 0 : kEndless;
  state.trip = kEndless;
  if (loop.trip_count >= 0) {
    state.trip = loop.trip_count;
  } else if (loop.trip_operand.present()) {
    SCANLOOM_TRY(const auto count, single<std::int64_t>(loop.trip_operand, loop.node));
    if (count < ir::kEndlessTripCount) state.trip = count;
  }
  SCANLOOM_CHECK_OK(check_slices(loop, state.trip));
  const bool has_end = state.trip != kEndless;
  state.shown = has_end ? state.trip : -1;
  const std::int64_t limit = limits.max_steps >= 0 ? limits.max_steps
                             : has_end             ? kEndless
                                                   : ir::kDefaultMaxSteps;
  state.limited = state.trip > limit;
  // Code of a body takes all steps of the loops inside.
  state.body_allowed = limits.max_steps < 0 || loop.per_step.max_inner_trips <= limits.max_steps;
  state.trip = std::min(state.trip, limit);
  bool runs = true;
  if (loop.condition.present()) {
    SCANLOOM_TRY(runs, single<bool>(loop.condition, loop.node));
  }
  if (!runs) state.trip = 0;
  if (runs && state.limited && limit == 0)
    return fail(Code::limit_reached, "{}: the step limit of 0 (max_steps) allows no step",
                describe(loop.node));
  return state.trip > 0;
}

Expected<void> Run::State::look(std::uint32_t index, Watch& watch) {
  LoopState& state = loops[index];
  const std::uint32_t told = outermost == kNoLoop ? index : outermost;
  Expected<void> looked =
      watch.look(state.step, {told, loops[told].step, loops[told].shown}, &state.pace);
  if (!looked) return std::move(looked).error().at(describe(binding->loops[index].node));
  return {};
}

Expected<void> Run::State::look_in_step(Watch& watch) {
  time_left = plan::kSpentBetweenLooks;
  if (outermost == kNoLoop) return watch.look();
  const LoopState& state = loops[outermost];
  Expected<void> looked = watch.look(state.step, {outermost, state.step, state.shown});
  if (!looked) return std::move(looked).error().at(describe(binding->loops[outermost].node));
  return {};
}

Expected<bool> Run::State::begin_loop(std::uint32_t index, Watch& watch) {
  const plan::BoundLoop& loop = binding->loops[index];
  SCANLOOM_TRY(const bool runs, enter(index, watch.limits()));
  for (const plan::BoundCarried& port : loop.carried) {
    if (port.in_place) continue;
    const plan::Spot& first = runs ? port.argument : port.final;
    SCANLOOM_CHECK_OK(assign(port.initial, first, loop.node, port.moved));
    if (port.buffer_a != plan::kNone) slot(port.next.slot) = slot(port.buffer_a);
  }
  if (!runs) {
    // Static rows have zero steps by their sizes already; boxed ones learn it here.
    SCANLOOM_CHECK_OK(empty_rows(loop));
    return false;
  }
  SCANLOOM_CHECK_OK(begin_slices(loop, 0));
  if (loop.blocks.steps > 0) SCANLOOM_CHECK_OK(make_block(index, watch));
  for (const plan::BoundStacked& port : loop.stacked)
    if (!port.result.is_dynamic() && !port.result.is_object())
      slot(port.row.slot) = address(port.result) + port.first_bytes;
  SCANLOOM_CHECK_OK(begin_rows(index));
  return true;
}

Expected<void> Run::State::check_sizes(const plan::SizeCheck& check) {
  const auto shape = [&](const plan::Spot& spot) {
    return spot.is_object() ? object(spot)->tensor().shape() : operand(spot).shape();
  };
  const auto state = [&] {
    return plan::describe_carried(*binding->plan, binding->loops[check.loop].node, check.carried);
  };
  Expected<void> fits = tensor::check_fixed_sizes(state, loops[check.loop].step,
                                                  shape(check.argument), shape(check.next));
  if (!fits) return std::move(fits).error().at(describe(binding->loops[check.loop].node));
  return {};
}

/// Whether there are slices for all steps, as far as binding could not tell. Endless steps become
/// as many as there are slices, which must agree then.
Expected<void> Run::State::check_slices(const plan::BoundLoop& loop, std::int64_t& steps) {
  const bool counted = steps != std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < loop.scanned.size(); ++i) {
    const plan::BoundScanned& port = loop.scanned[i];
    if (loop.trip_count >= 0 && !port.outer.is_dynamic() && !port.outer.is_object()) continue;
    SCANLOOM_TRY(const std::int64_t slices, slice_count(port, loop.node));
    if (!counted && i == 0) steps = slices;
    if (counted ? slices < steps : slices != steps)
      return fail(Code::invalid_argument, "{}: {} steps, but {} has {} slices on axis {}",
                  describe(loop.node), steps,
                  plan::describe_scanned(binding->plan->module, loop.node, i), slices,
                  port.slices.axis)
          .note(plan::missing_slices(steps, slices));
  }
  return {};
}

Expected<void> Run::State::begin_slices(const plan::BoundLoop& loop, std::int64_t step) {
  for (const plan::BoundScanned& port : loop.scanned) {
    if (port.argument.is_object())
      SCANLOOM_CHECK_OK(slice_object(port, step, loop.node));
    else if (port.argument.is_dynamic())
      begin_slice(port, step);
    else {
      SCANLOOM_TRY(std::byte* const first, first_slice(port, loop.node));
      slot(port.argument.slot) = first + step * port.step_bytes;
    }
  }
  return {};
}

Expected<bool> Run::State::end_step(std::uint32_t index, Watch& watch) {
  const plan::BoundLoop& loop = binding->loops[index];
  LoopState& state = loops[index];
  bool keeps_going = true;
  if (loop.keep_going.present()) {
    SCANLOOM_TRY(keeps_going, single<bool>(loop.keep_going, loop.node));
  }
  for (std::size_t i = 0; i < loop.stacked.size(); ++i) {
    const plan::BoundStacked& port = loop.stacked[i];
    if (port.apart) {
      SCANLOOM_CHECK_OK(keep_row(index, i));
    } else if (port.result.is_dynamic() && !port.open) {
      SCANLOOM_CHECK_OK(append_row(port, index));
    } else {
      slot(port.row.slot) += port.step_bytes;
    }
  }
  swap_states(loop, state.step == 0);
  ++state.step;
  ++state.stepped;
  ++steps;
  if (state.pace.due()) SCANLOOM_CHECK_OK(look(index, watch));
  if (!keeps_going) return false;
  if (state.step < state.trip) {
    if (loop.parallel && state.step == 1) {
      SCANLOOM_TRY(const bool taken, take_side_by_side(index, seconds_now() - began, watch));
      if (taken) {
        SCANLOOM_CHECK_OK(check_limit(index));
        return false;
      }
    }
    if (state.step == state.room) SCANLOOM_CHECK_OK(grow_rows(index));
    SCANLOOM_CHECK_OK(next_slices(index));
    if (state.step == state.block_end) SCANLOOM_CHECK_OK(make_block(index, watch));
    if (profiled != nullptr)
      SCANLOOM_CHECK_OK(prepare_timed_body(index, watch));
    else if (!state.body_decided)
      SCANLOOM_CHECK_OK(prepare_body(index, watch));
    const jit::CompiledBody& code = (profiled == nullptr ? state.body : state.timed.body).code;
    if (code.run == nullptr || !state.body_allowed) return true;
    SCANLOOM_CHECK_OK(run_body(index, watch));
    return false;
  }
  SCANLOOM_CHECK_OK(check_limit(index));
  return false;
}

Expected<void> Run::State::check_limit(std::uint32_t index) const {
  if (!loops[index].limited) return {};
  return fail(Code::limit_reached, "{}: the step limit of {} was reached",
              describe(binding->loops[index].node), loops[index].trip)
      .note("raise it with the option max_steps");
}

void Run::State::swap_states(const plan::BoundLoop& loop, bool first_step) {
  for (const plan::BoundCarried& port : loop.carried) {
    if (port.in_place) continue;
    if (port.argument.is_object()) {
      object(port.argument) = std::move(object(port.next));
      continue;
    }
    std::byte*& argument = slot(port.argument.slot);
    std::byte*& next = slot(port.next.slot);
    std::swap(argument, next);
    if (port.argument.is_dynamic()) {
      std::swap(box(port.argument), box(port.next));
    } else if (first_step) {
      // The initial value is not ours to write; from now on the two buffers take turns.
      next = slot(port.buffer_b);
    }
  }
}

Expected<void> Run::State::next_slices(std::uint32_t index) {
  const plan::BoundLoop& loop = binding->loops[index];
  for (const plan::BoundScanned& port : loop.scanned) {
    if (port.argument.is_object()) {
      SCANLOOM_CHECK_OK(slice_object(port, loops[index].step, loop.node));
    } else if (port.argument.is_dynamic()) {
      // Not from the slice before: that one may have been moved, see first_slice.
      begin_slice(port, loops[index].step);
    } else {
      slot(port.argument.slot) += port.step_bytes;
    }
  }
  return {};
}

Expected<void> Run::State::make_block(std::uint32_t index, Watch& watch) {
  const plan::BoundLoop& loop = binding->loops[index];
  const plan::BoundBlocks& blocks = loop.blocks;
  LoopState& state = loops[index];
  const std::int64_t from_end = blocks.rows - blocks.steps - state.step;
  for (const plan::BlockInput& input : blocks.inputs)
    slot(input.slot) =
        address(input.from) + (input.backwards ? from_end : state.step) * input.row_bytes;
  std::uint32_t at = blocks.first;
  SCANLOOM_CHECK_OK(execute_from(at, watch.limits(), watch, profiled));
  for (std::size_t i = 0; i < loop.scanned.size(); ++i) {
    const plan::BoundScanned& port = loop.scanned[i];
    if (blocks.ports[i]) slot(port.argument.slot) = address(port.outer) + port.first_bytes;
  }
  const bool is_first = state.step == 0;
  state.block_first = state.step;
  state.block_end +=
      is_first ? kernels::steps_of_first_block(blocks.rows, blocks.steps) : blocks.steps;
  return {};
}

Expected<void> Run::State::finish_loop(std::uint32_t index) {
  const plan::BoundLoop& loop = binding->loops[index];
  loops[index].longest = std::max(loops[index].longest, loops[index].step);
  for (const plan::BoundCarried& port : loop.carried) {
    if (port.in_place) continue;
    if (port.final.is_object()) {
      object(port.final) = std::move(object(port.argument));
      continue;
    }
    slot(port.final.slot) = slot(port.argument.slot);
    if (port.final.is_dynamic()) box(port.final) = std::move(box(port.argument));
  }
  for (std::size_t i = 0; i < loop.stacked.size(); ++i) {
    const plan::BoundStacked& port = loop.stacked[i];
    if (port.apart)
      SCANLOOM_CHECK_OK(join_rows(index, i));
    else if (port.result.is_dynamic())
      SCANLOOM_CHECK_OK(finish_rows(port, loops[index].step, loop.node));
  }
  if (outermost == index) {
    outermost = kNoLoop;
    add_time(index);
  }
  return {};
}

}  // namespace scanloom::runtime
