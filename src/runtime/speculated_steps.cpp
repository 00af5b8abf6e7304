#include "runtime/speculated_steps.h"

#include <utility>
#include <vector>

#include "runtime/body_steps.h"
#include "runtime/run_state.h"

namespace scanloom::runtime {

SpeculationPlan SpeculatedSteps::plan_for(std::uint32_t index) {
  const plan::BoundLoop& loop = main_.binding->loops[index];
  const LoopState& state = main_.loops[index];
  const RunProgress& progress = main_.progress;
  const bool is_in_order = !loop.speculation || progress.profile() != nullptr ||
                           progress.only_loop() != RunProgress::kNoLoop;
  // Rows of an open stack would have to be moved.
  if (is_in_order || state.room < state.trip) return {};
  return plan_speculation(*loop.speculation, *loop.speculated,
                          main_.binding->plan->options.speculation, state.trip - state.step,
                          main_.kernels.max_threads());
}

bool SpeculatedSteps::admits(std::uint32_t index, SpeculationPlan& plan, std::int64_t own_bytes) {
  const plan::BoundLoop& loop = main_.binding->loops[index];
  const LoopState& state = main_.loops[index];
  plan.bytes = limit_bytes(plan, *loop.speculation, state.trip - state.step, own_bytes);
  RunMemory& memory = main_.memory;
  const bool fits = plan.bytes <= memory.left() || (memory.raise() && plan.bytes <= memory.left());
  // Only a run that would be speculated counts as one that is skipped.
  return fits && (plan.is_forced || !loop.speculated->skips_run());
}

Expected<bool> SpeculatedSteps::take(std::uint32_t index, const SpeculationPlan& plan,
                                     StepTaker& steps, MakeTaker make_taker, Watch& watch) {
  const plan::BoundLoop& loop = main_.binding->loops[index];
  LoopState& state = main_.loops[index];
  const std::int64_t first = state.step;
  const Storage held(nullptr, plan.bytes, main_.memory.budget());
  const auto poll = [&](std::int64_t step) {
    state.step = step;
    return main_.progress.poll(index, watch);
  };
  Speculation speculation({.speculation = *loop.speculation,
                           .record = *loop.speculated,
                           .main = steps,
                           .make_taker = std::move(make_taker),
                           .poll = poll,
                           .interval = state.poll_interval},
                          plan, first, state.trip);
  SCANLOOM_TRY(const bool ran, speculation.run());
  if (!ran) return false;
  state.step = state.trip;
  main_.progress.add_steps((state.trip - first) * (1 + loop.per_step.inner_steps));
  SCANLOOM_CHECK_OK(main_.control.check_limit(index));
  return true;
}

Expected<bool> SpeculatedSteps::take_whole(std::uint32_t index, const WholeLoop& whole,
                                           Watch& watch) {
  const plan::BoundLoop& loop = main_.binding->loops[index];
  SpeculationPlan plan = plan_for(index);
  if (!plan.speculates() || main_.loops[index].block_end < main_.loops[index].trip) return false;
  if (!admits(index, plan, 2 * loop.speculation->state_bytes)) return false;
  std::vector<std::byte*> buffers;
  for (const plan::BoundCarried& port : loop.carried)
    for (const plan::SlotId buffer : {port.buffer_a, port.buffer_b})
      buffers.push_back(main_.values.slot(buffer));
  WholeLoopSteps steps(whole, *loop.speculation, buffers);
  std::vector<const std::byte*> initial;
  for (const plan::BoundCarried& port : loop.carried)
    initial.push_back(main_.values.slot(port.final.slot));
  steps.begin(initial);
  const auto make_taker = [&] {
    return std::make_unique<WholeLoopSteps>(whole, *loop.speculation);
  };
  SCANLOOM_CHECK_OK(take(index, plan, steps, make_taker, watch));
  for (std::size_t i = 0; i < loop.carried.size(); ++i)
    main_.values.slot(loop.carried[i].final.slot) = steps.state(i);
  return true;
}

Expected<bool> SpeculatedSteps::take_body(std::uint32_t index, const plan::BodyCode& body,
                                          Watch& watch) {
  SpeculationPlan plan = plan_for(index);
  if (!plan.speculates()) return false;
  const StepsOrigin origin(main_, index, body, watch);
  if (!admits(index, plan, origin.bytes_of_worker())) return false;
  BodySteps steps(origin, main_, watch);
  const auto make_taker = [&] { return std::make_unique<BodySteps>(origin); };
  SCANLOOM_TRY(const bool ran, take(index, plan, steps, make_taker, watch));
  if (!ran) SCANLOOM_CHECK_OK(steps.error());
  return true;
}

}  // namespace scanloom::runtime
