// The tasks of a call, shared by threads. Used by convolutions.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "tensor/call.h"

namespace scanloom::kernels {

/// Calls run(task, slot) for all tasks, in parallel if there are several slots. A slot has
/// adjacent tasks, one at a time. Ends early if the run is to stop. Tasks of little work, in
/// multiply-adds, do not poll each: a poll takes as long as a small task.
template <class F>
tensor::Status share_tasks(const tensor::Call& call, std::int64_t tasks, std::int64_t slots,
                           double task_work, F&& run) {
  constexpr double kWorkBetweenPolls = 1'000'000;
  if (call.max_threads <= 1) slots = 1;
  const auto work_of = [&](std::int64_t slot) {
    double work = kWorkBetweenPolls;
    const std::int64_t end = (slot + 1) * tasks / slots;
    for (std::int64_t task = slot * tasks / slots; task < end; ++task) {
      const bool polls = work >= kWorkBetweenPolls;
      if (polls && call.stop_requested()) return;
      work = (polls ? 0 : work) + task_work;
      run(task, slot);
    }
  };
  if (slots > 1)
    parallel_for(slots, call.max_threads, work_of);
  else
    work_of(0);
  return call.ok_or_stopped();
}

}  // namespace scanloom::kernels
