#include "runtime/executor.h"

#include <chrono>
#include <utility>

#include "base/assert.h"
#include "runtime/failed_steps.h"

namespace scanloom::runtime {
namespace {

/// Adds its lifetime to an entry of the profile; does nothing without one.
class Timer {
 public:
  explicit Timer(Profile::Entry* entry) : entry_(entry) {
    if (entry_ != nullptr) start_ = Clock::now();
  }
  ~Timer() {
    if (entry_ == nullptr) return;
    ++entry_->calls;
    entry_->seconds += std::chrono::duration<double>(Clock::now() - start_).count();
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  Profile::Entry* entry_;
  Clock::time_point start_;
};

/// Starts the time of a loop, which ends at its exit many instructions later.
void start_loop(Profile* profile, std::uint32_t loop) {
  if (profile != nullptr) profile->loops[loop].seconds -= seconds_now();
}
void stop_loop(Profile* profile, std::uint32_t loop) {
  if (profile == nullptr) return;
  profile->loops[loop].seconds += seconds_now();
  ++profile->loops[loop].calls;
}

}  // namespace

Expected<void> Executor::execute(Watch& watch) {
  RunProgress& progress = parts_.progress;
  const std::uint32_t only_loop = progress.only_loop();
  std::uint32_t at = only_loop == RunProgress::kNoLoop ? 0 : binding_.loops[only_loop].body;
  progress.set_failed_at(RunProgress::kNowhere);
  const KernelWatch::Run watching(parts_.kernels.watch(), watch);
  Expected<void> done = execute_from(at, watch);
  if (done) return {};
  const std::uint32_t failed_at = progress.failed_at();
  return note_steps(std::move(done).error(), binding_, parts_.loops,
                    failed_at == RunProgress::kNowhere ? at : failed_at);
}

/// The main loop: runs the calls and the control flow. Execution continues with the following
/// instruction unless the instruction jumps.
Expected<void> Executor::execute_from(std::uint32_t& at, Watch& watch) {
  const plan::Instruction* const list = parts_.regions.list(watch.limits());
  const tensor::HotCall* const calls = parts_.kernels.data();
  Profile* const profile = parts_.progress.profile();
  while (true) {
    const plan::Instruction instruction = list[at];
    const std::uint32_t index = instruction.index;
    switch (instruction.op) {
      case plan::Op::call: {
        const Timer timer(profile != nullptr ? &profile->calls[index] : nullptr);
        const tensor::HotCall& hot = calls[index];
        if (hot.run(hot.call) != tensor::Status::ok) [[unlikely]]
          return parts_.kernels.error(binding_.calls[index].node);
        break;
      }
      case plan::Op::loop_begin: {
        SCANLOOM_TRY(at, arrive_at_loop(index, watch));
        continue;
      }
      case plan::Op::loop_end: {
        SCANLOOM_TRY(const bool again, parts_.driver.end_step(index, watch));
        if (!again && parts_.progress.only_loop() == index) return {};
        if (!again) SCANLOOM_CHECK_OK(leave_loop(index));
        at = again ? binding_.loops[index].body : binding_.loops[index].exit;
        continue;
      }
      case plan::Op::compiled_loop:
        SCANLOOM_CHECK_OK(run_compiled(index, watch));
        at = binding_.loops[index].exit;
        continue;
      case plan::Op::branch: {
        const plan::BoundBranch& branch = binding_.branches[index];
        SCANLOOM_TRY(const bool condition,
                     parts_.values.scalar<bool>(branch.condition, branch.node));
        at = condition ? at + 1 : branch.otherwise;
        continue;
      }
      case plan::Op::jump:
        at = index;
        continue;
      case plan::Op::outlined_region:
        SCANLOOM_CHECK_OK(parts_.regions.run(index, watch));
        at = binding_.outlined_regions[index].last;
        continue;
      case plan::Op::end:
        return {};
      case plan::Op::dynamic_call:
      case plan::Op::object_call:
      case plan::Op::alias:
      case plan::Op::check_sizes:
      case plan::Op::trap:
      case plan::Op::poll:
      case plan::Op::charge:
        SCANLOOM_CHECK_OK(execute_one(instruction, watch));
    }
    ++at;
  }
}

Expected<void> Executor::execute_one(plan::Instruction instruction, Watch& watch) {
  const std::uint32_t index = instruction.index;
  Profile* const profile = parts_.progress.profile();
  switch (instruction.op) {
    case plan::Op::dynamic_call: {
      const Timer timer(profile != nullptr ? &profile->dynamic_calls[index] : nullptr);
      SCANLOOM_CHECK_OK(parts_.dynamic_calls.run(index));
      break;
    }
    case plan::Op::object_call: {
      const Timer timer(profile != nullptr ? &profile->object_calls[index] : nullptr);
      SCANLOOM_CHECK_OK(parts_.objects.run(index));
      break;
    }
    case plan::Op::alias: {
      const plan::Alias& alias = binding_.aliases[index];
      return parts_.tensors.assign(alias.from, alias.to, {}, alias.moved);
    }
    case plan::Op::check_sizes:
      return parts_.control.check_sizes(binding_.size_checks[index]);
    case plan::Op::trap:
      return binding_.traps[index];
    case plan::Op::poll:
      return parts_.progress.poll_after(ir::NodeId{index}, watch);
    case plan::Op::charge:
      parts_.progress.charge(index);
      break;
    case plan::Op::call:
    case plan::Op::loop_begin:
    case plan::Op::loop_end:
    case plan::Op::compiled_loop:
    case plan::Op::branch:
    case plan::Op::jump:
    case plan::Op::outlined_region:
    case plan::Op::end:
      SCANLOOM_ASSERT(!"execute_from takes them");
  }
  if (parts_.progress.is_overdue()) [[unlikely]]
    return parts_.progress.poll_in_step(watch);
  return {};
}

Expected<std::uint32_t> Executor::arrive_at_loop(std::uint32_t index, Watch& watch) {
  Profile* const profile = parts_.progress.profile();
  start_loop(profile, index);
  SCANLOOM_TRY(const bool steps_follow, parts_.driver.arrive(index, watch));
  if (!steps_follow) stop_loop(profile, index);
  return steps_follow ? binding_.loops[index].body : binding_.loops[index].exit;
}

Expected<void> Executor::leave_loop(std::uint32_t index) {
  SCANLOOM_CHECK_OK(parts_.driver.finish(index));
  stop_loop(parts_.progress.profile(), index);
  return {};
}

Expected<void> Executor::run_compiled(std::uint32_t index, Watch& watch) {
  Profile* const profile = parts_.progress.profile();
  const Timer timer(profile != nullptr ? &profile->loops[index] : nullptr);
  parts_.progress.arrive();
  SCANLOOM_CHECK_OK(parts_.code.run_compiled(index, watch));
  parts_.progress.begin_loop(index, /*steps_follow=*/false);
  return {};
}

}  // namespace scanloom::runtime
