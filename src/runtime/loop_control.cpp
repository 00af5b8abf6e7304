#include "runtime/loop_control.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "plan/port_names.h"
#include "tensor/fixed_sizes.h"

namespace scanloom::runtime {

void LoopControl::begin_counts() {
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const auto& count = values_.binding.loops[i].stepped;
    loops_[i].before = count ? count->load(std::memory_order_relaxed) : 0;
    loops_[i].stepped = 0;
  }
}

void LoopControl::add_counts() const {
  for (std::size_t i = 0; i < loops_.size(); ++i)
    if (loops_[i].stepped > 0 && values_.binding.loops[i].stepped)
      values_.binding.loops[i].stepped->fetch_add(loops_[i].stepped, std::memory_order_relaxed);
}

Expected<bool> LoopControl::enter(std::uint32_t index, const Limits& limits) {
  const plan::BoundLoop& loop = values_.binding.loops[index];
  LoopState& state = loops_[index];
  constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();
  state.step = 0;
  state.block_end = loop.blocks.steps > 0 ? 0 : kEndless;
  state.trip = kEndless;
  if (loop.trip_count >= 0) {
    state.trip = loop.trip_count;
  } else if (loop.trip_operand.present()) {
    SCANLOOM_TRY(const auto count, values_.scalar<std::int64_t>(loop.trip_operand, loop.node));
    if (count < ir::kEndlessTripCount) state.trip = count;
  }
  if (!loop.scanned.empty()) SCANLOOM_CHECK_OK(check_slices(loop, state.trip));
  const bool has_end = state.trip != kEndless;
  state.shown = has_end ? state.trip : -1;
  const std::int64_t limit = limits.max_steps >= 0 ? limits.max_steps
                             : has_end             ? kEndless
                                                   : ir::kDefaultMaxSteps;
  state.limited = state.trip > limit;
  // A compiled body takes all steps of its inner loops at once.
  state.code_allowed = limits.max_steps < 0 || loop.per_step.max_inner_trips <= limits.max_steps;
  state.trip = std::min(state.trip, limit);
  bool runs = true;
  if (loop.condition.present()) {
    SCANLOOM_TRY(runs, values_.scalar<bool>(loop.condition, loop.node));
  }
  if (!runs) state.trip = 0;
  if (runs && state.limited && limit == 0)
    return fail(Code::limit_reached, "{}: the step limit of 0 (max_steps) allows no steps",
                values_.describe(loop.node));
  return state.trip > 0;
}

Expected<void> LoopControl::check_slices(const plan::BoundLoop& loop, std::int64_t& steps) {
  const bool counted = steps != std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < loop.scanned.size(); ++i) {
    const plan::BoundScanned& port = loop.scanned[i];
    if (loop.trip_count >= 0 && !port.outer.is_dynamic() && !port.outer.is_object()) continue;
    SCANLOOM_TRY(const std::int64_t slices, objects_.slice_count(port, loop.node));
    if (!counted && i == 0) steps = slices;
    if (counted ? slices < steps : slices != steps)
      return fail(Code::invalid_argument, "{}: {} steps, but {} has {} slices on axis {}",
                  values_.describe(loop.node), steps,
                  plan::describe_scanned(values_.binding.plan->module, loop.node, i), slices,
                  port.slices.axis)
          .note(plan::missing_slices(steps, slices));
  }
  return {};
}

Expected<void> LoopControl::check_sizes(const plan::SizeCheck& check) {
  const auto shape = [&](const plan::Spot& spot) {
    return spot.is_object() ? values_.object(spot)->tensor().shape()
                            : values_.operand(spot).shape();
  };
  const auto state = [&] {
    return plan::describe_carried(*values_.binding.plan, values_.binding.loops[check.loop].node,
                                  check.carried);
  };
  Expected<void> fits = tensor::check_fixed_sizes(state, loops_[check.loop].step,
                                                  shape(check.argument), shape(check.next));
  if (!fits)
    return std::move(fits).error().at(values_.describe(values_.binding.loops[check.loop].node));
  return {};
}

Expected<void> LoopControl::check_limit(std::uint32_t index) const {
  if (!loops_[index].limited) return {};
  return fail(Code::limit_reached, "{}: the step limit of {} was reached",
              values_.describe(values_.binding.loops[index].node), loops_[index].trip)
      .note("raise it with the option max_steps");
}

}  // namespace scanloom::runtime
