#include "runtime/worker.h"

#include <cstring>
#include <utility>

#include "runtime/run_state.h"

namespace scanloom::runtime {
namespace {

/// Sets the carried values to what they are before step `first`.
Expected<void> begin_carried(RunState& worker, const RunState& main, std::int64_t first) {
  const std::uint32_t index = worker.progress.only_loop();
  const plan::BoundLoop& loop = worker.binding->loops[index];
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    const plan::Spot& spot = loop.carried[i].argument;
    const plan::CarriedRole& role = loop.parallel->carried[i];
    if (role.kind == plan::CarriedRole::Kind::appended) {
      tensor::ObjectRef& sequence = worker.values.object(spot);
      sequence = tensor::ObjectRef::sequence(spot.dtype);
      SCANLOOM_CHECK_OK(worker.memory.account().count(*sequence));
      continue;
    }
    std::int64_t value = 0;
    std::memcpy(&value, main.values.slots[static_cast<std::size_t>(spot.slot)] + spot.offset,
                sizeof value);
    value = count_up(value, first - main.loops[index].step, role.increment);
    std::memcpy(worker.values.address(spot), &value, sizeof value);
  }
  return {};
}

}  // namespace

std::int64_t count_up(std::int64_t value, std::int64_t steps, std::int64_t increment) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) +
                                   static_cast<std::uint64_t>(steps) *
                                       static_cast<std::uint64_t>(increment));
}

void begin_worker(RunState& worker, const RunState& main, std::uint32_t loop,
                  std::int64_t workers) {
  worker.memory.begin_worker(main.memory, workers);
  worker.values.copy_from(main.values);
  worker.tensors.begin_run(main.tensors.run_number());
  worker.progress.begin_worker(loop);
  worker.regions.adopt(main.regions);
  LoopState& state = worker.loops[loop];
  const LoopState& from = main.loops[loop];
  state.shown = from.shown;
  state.room = from.room;
  state.before = from.all_stepped();
  state.code_allowed = from.code_allowed;
  if (state.is_undecided()) state.stepping = from.stepping;
}

Expected<StepResults> take_steps(RunState& worker, const RunState& main, std::int64_t first,
                                 std::int64_t last, Watch& watch) {
  const std::uint32_t index = worker.progress.only_loop();
  const plan::BoundLoop& loop = worker.binding->loops[index];
  LoopState& state = worker.loops[index];
  worker.progress.begin_steps(watch);
  state.step = first;
  state.trip = last;
  state.limited = false;
  SCANLOOM_CHECK_OK(begin_carried(worker, main, first));
  SCANLOOM_CHECK_OK(worker.driver.begin_slices(loop, first));
  for (const plan::BoundStacked& port : loop.stacked)
    if (!port.apart)
      worker.values.slot(port.row.slot) =
          main.values.slots[static_cast<std::size_t>(port.result.slot)] + port.result.offset +
          port.first_bytes + first * port.step_bytes;
  SCANLOOM_CHECK_OK(worker.executor.execute(watch));
  StepResults results{.rows = worker.rows.take_kept(index), .steps = worker.progress.steps()};
  for (const plan::BoundCarried& port : loop.carried)
    results.appended.push_back(port.argument.is_object()
                                   ? std::move(worker.values.object(port.argument))
                                   : tensor::ObjectRef());
  return results;
}

void end_worker(RunState& worker) {
  worker.end_run();
  worker.dynamic_calls.release_scratch();
  worker.memory.end_worker();
  worker.tensors.release_all();
}

}  // namespace scanloom::runtime
