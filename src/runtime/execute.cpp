// The flat list of instructions, executed one after the other.
#include <chrono>

#include "base/assert.h"
#include "runtime/state.h"

namespace scanloom::runtime {
namespace {

/// Adds its lifetime to an entry, or does nothing.
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
  using Clock = std::chrono::steady_clock;
  Profile::Entry* entry_;
  Clock::time_point start_;
};

/// A loop's time runs from its begin to its exit, over many instructions.
void start_loop(Profile* profile, std::uint32_t loop) {
  if (profile != nullptr) profile->loops[loop].seconds -= seconds_now();
}
void stop_loop(Profile* profile, std::uint32_t loop) {
  if (profile == nullptr) return;
  profile->loops[loop].seconds += seconds_now();
  ++profile->loops[loop].calls;
}

}  // namespace

Expected<bool> Run::State::arrive(std::uint32_t index, const Limits& limits, Watch& watch) {
  if (outermost == kNoLoop) began = seconds_now();
  SCANLOOM_TRY(const bool whole, run_whole(index, limits, watch));
  bool steps_follow = false;
  if (!whole) {
    SCANLOOM_TRY(steps_follow, begin_loop(index, watch));
  }
  if (outermost == kNoLoop) {
    if (steps_follow)
      outermost = index;
    else
      add_time(index);
  }
  if (!steps_follow || outermost != index) return steps_follow;
  SCANLOOM_TRY(const bool taken, begin_side_by_side(index, watch));
  if (taken) SCANLOOM_CHECK_OK(finish_loop(index));
  return !taken;
}

Expected<void> Run::State::execute(const Limits& limits, Watch& watch, Profile* profile) {
  std::uint32_t at = only_loop == kNoLoop ? 0 : binding->loops[only_loop].body;
  failed_at = kNowhere;
  const KernelWatch::Run watching(stop, watch);
  Expected<void> done = execute_from(at, limits, watch, profile);
  if (!done) return in_steps(std::move(done).error(), failed_at == kNowhere ? at : failed_at);
  return {};
}

/// All that runs comes through here: calls, and where the list goes on, behind an instruction
/// unless it says otherwise.
Expected<void> Run::State::execute_from(std::uint32_t& at, const Limits& limits, Watch& watch,
                                        Profile* profile) {
  const bool as_code = !code.empty() && profile == nullptr && sections_allowed(limits);
  const plan::Instruction* const list = as_code ? code.data() : binding->code.data();
  while (true) {
    const plan::Instruction instruction = list[at];
    const std::uint32_t index = instruction.index;
    switch (instruction.op) {
      case plan::Op::call: {
        const Timer timer(profile != nullptr ? &profile->calls[index] : nullptr);
        const tensor::HotCall& hot = calls[index];
        if (hot.run(hot.call) != tensor::Status::ok) [[unlikely]]
          return fault_error(binding->calls[index].node);
        break;
      }
      case plan::Op::loop_begin: {
        SCANLOOM_TRY(at, come_to_loop(index, limits, watch, profile));
        continue;
      }
      case plan::Op::loop_end: {
        SCANLOOM_TRY(const bool again, end_step(index, watch));
        if (!again && only_loop == index) return {};
        if (!again) SCANLOOM_CHECK_OK(leave_loop(index, profile));
        at = again ? binding->loops[index].body : binding->loops[index].exit;
        continue;
      }
      case plan::Op::compiled_loop:
        SCANLOOM_CHECK_OK(execute_compiled(index, limits, watch, profile));
        at = binding->loops[index].exit;
        continue;
      case plan::Op::branch: {
        const plan::BoundBranch& branch = binding->branches[index];
        SCANLOOM_TRY(const bool condition, single<bool>(branch.condition, branch.node));
        at = condition ? at + 1 : branch.otherwise;
        continue;
      }
      case plan::Op::jump:
        at = index;
        continue;
      case plan::Op::section:
        SCANLOOM_CHECK_OK(run_section(index, watch));
        at = binding->sections[index].last;
        continue;
      case plan::Op::end:
        return {};
      case plan::Op::dynamic_call:
      case plan::Op::object_call:
      case plan::Op::alias:
      case plan::Op::check_sizes:
      case plan::Op::fault:
      case plan::Op::look:
      case plan::Op::spend:
        SCANLOOM_CHECK_OK(execute_one(instruction, watch, profile));
    }
    ++at;
  }
}

/// What is neither a call of a kernel whose sizes are known nor says where the list goes on.
Expected<void> Run::State::execute_one(plan::Instruction instruction, Watch& watch,
                                       Profile* profile) {
  const std::uint32_t index = instruction.index;
  switch (instruction.op) {
    case plan::Op::dynamic_call: {
      const Timer timer(profile != nullptr ? &profile->dynamic_calls[index] : nullptr);
      SCANLOOM_CHECK_OK(run_dynamic(index));
      break;
    }
    case plan::Op::object_call: {
      const Timer timer(profile != nullptr ? &profile->object_calls[index] : nullptr);
      SCANLOOM_CHECK_OK(run_object(index));
      break;
    }
    case plan::Op::alias: {
      const plan::Alias& alias = binding->aliases[index];
      return assign(alias.from, alias.to, {}, alias.moved);
    }
    case plan::Op::check_sizes:
      return check_sizes(binding->size_checks[index]);
    case plan::Op::fault:
      return binding->faults[index];
    case plan::Op::look:
      return look_behind(ir::NodeId{index}, watch);
    case plan::Op::spend:
      time_left -= index;
      break;
    case plan::Op::call:
    case plan::Op::loop_begin:
    case plan::Op::loop_end:
    case plan::Op::compiled_loop:
    case plan::Op::branch:
    case plan::Op::jump:
    case plan::Op::section:
    case plan::Op::end:
      SCANLOOM_ASSERT(!"execute_from takes them");
  }
  if (time_left < 0) [[unlikely]]
    return look_in_step(watch);
  return {};
}

Expected<std::uint32_t> Run::State::come_to_loop(std::uint32_t index, const Limits& limits,
                                                 Watch& watch, Profile* profile) {
  start_loop(profile, index);
  SCANLOOM_TRY(const bool steps_follow, arrive(index, limits, watch));
  if (!steps_follow) stop_loop(profile, index);
  return steps_follow ? binding->loops[index].body : binding->loops[index].exit;
}

Expected<void> Run::State::leave_loop(std::uint32_t index, Profile* profile) {
  SCANLOOM_CHECK_OK(finish_loop(index));
  stop_loop(profile, index);
  return {};
}

Expected<void> Run::State::execute_compiled(std::uint32_t index, const Limits& limits, Watch& watch,
                                            Profile* profile) {
  const Timer timer(profile != nullptr ? &profile->loops[index] : nullptr);
  if (outermost == kNoLoop) began = seconds_now();
  SCANLOOM_CHECK_OK(run_compiled(index, limits, watch));
  if (outermost == kNoLoop) add_time(index);
  return {};
}

Expected<void> Run::State::look_behind(ir::NodeId node, Watch& watch) const {
  Expected<void> looked = watch.poll();
  if (!looked) return std::move(looked).error().at(describe(node));
  return {};
}

void Run::State::add_time(std::uint32_t loop) {
  LoopTime& time = times[loop];
  time.last = loops[loop].step;
  if (profiled) return;
  time.steps += loops[loop].step;
  time.seconds += seconds_now() - began;
}

}  // namespace scanloom::runtime
