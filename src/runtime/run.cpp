#include "runtime/run.h"

#include <utility>

#include "base/fp_environment.h"
#include "base/memory_budget.h"
#include "runtime/results.h"
#include "runtime/run_state.h"

namespace scanloom::runtime {

Run::Run(std::unique_ptr<RunState> state, std::shared_ptr<ResultMemory> results)
    : state_(std::move(state)), results_(std::move(results)) {}
Run::~Run() = default;

const std::shared_ptr<const plan::Binding>& Run::binding() const { return state_->binding; }
bool Run::was_short_of_memory() const { return state_->memory.was_short(); }
const std::vector<LoopTime>& Run::loop_times() const { return state_->progress.times(); }

Expected<std::unique_ptr<Run>> Run::make(std::shared_ptr<const plan::Binding> binding,
                                         std::int64_t max_memory, int max_threads,
                                         std::shared_ptr<ResultMemory> results) {
  MemoryBudget budget(max_memory);
  SCANLOOM_CHECK_OK(check_fixed_bytes(*binding, budget, 0));
  const std::int64_t bytes = binding->arena_bytes + binding->scratch_bytes;
  AlignedBytes arena = allocate_aligned(bytes);
  if (!arena) return fail(Code::out_of_memory, "out of memory: the arena needs {} bytes", bytes);
  auto state = std::make_unique<RunState>(std::move(binding), std::move(arena), max_threads);
  if (!results) results = std::make_shared<ResultMemory>();
  return std::unique_ptr<Run>(new Run(std::move(state), std::move(results)));
}

Expected<RunResult> Run::execute(std::span<const std::byte* const> feeds, const Limits& limits,
                                 Profile* profile, std::span<const tensor::ObjectRef> objects,
                                 std::uint64_t number) {
  RunState& state = *state_;
  const FpEnvironment environment;
  // The system commits memory only when a run first writes it.
  const std::int64_t held =
      runs_ == 0 ? 0 : state.binding->arena_bytes + state.binding->scratch_bytes;
  SCANLOOM_CHECK_OK(state.memory.begin_run(limits.max_memory, held));
  state.tensors.begin_run(++runs_);
  // With an explicit budget, whether a run fails must not depend on earlier runs.
  const bool is_given = limits.max_memory > 0;
  if (is_given || !state.memory.fits(0)) state.release_kept();
  if (is_given) state.dynamic_calls.forget_growth();
  state.memory.note_taken();  // memory kept from earlier runs
  state.progress.begin_run(profile);
  state.kernels.begin_run(number);
  state.objects.begin_run(objects);
  Expected<RunResult> result = run(feeds, limits);
  state.end_run();
  return result;
}

Expected<RunResult> Run::run(std::span<const std::byte* const> feeds, const Limits& limits) {
  RunState& state = *state_;
  SCANLOOM_TRY(RunResult result, begin_results(state.values, *results_, feeds));
  Watch watch(limits);
  state.progress.begin_steps(watch);
  state.control.begin_counts();
  Expected<void> executed = state.executor.execute(watch);
  state.control.add_counts();
  if (!executed) return std::move(executed).error();
  SCANLOOM_CHECK_OK(finish_results(state.values, state.memory, result));
  result.steps = state.progress.steps();
  result.data_bytes = state.memory.data_bytes();
  return result;
}

}  // namespace scanloom::runtime
