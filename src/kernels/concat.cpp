// concat: copies every input to its part of the result, as planned at binding. Threads share all
// parts of a large result, whatever their number and sizes.
#include <algorithm>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/copy_plan.h"
#include "kernels/kernel.h"

namespace scanloom::kernels {
namespace {
namespace concat {

using tensor::Call;
using tensor::Operand;
using tensor::Status;

struct Part {
  CopyPlan plan;
  std::int64_t offset = 0;  ///< in bytes, within the result
};

/// A share of a part, for one thread.
struct ConcatTask {
  std::size_t part = 0;
  std::int64_t share = 0, shares = 1;
};

struct ConcatSchedule {
  std::vector<Part> parts;
  std::vector<ConcatTask> tasks;  ///< none if the result is small
};

Status concat_parts(const Call& call) noexcept {
  const auto& parts = static_cast<const ConcatSchedule*>(call.prepared)->parts;
  std::byte* const to = call.out(0).data<std::byte>();
  for (std::size_t i = 0; i < parts.size(); ++i)
    run_copy(parts[i].plan, call.in(static_cast<int>(i)).data<const std::byte>(),
             to + parts[i].offset);
  return Status::ok;
}

Status concat_in_shares(const Call& call) noexcept {
  if (call.max_threads <= 1) return concat_parts(call);
  const auto& plan = *static_cast<const ConcatSchedule*>(call.prepared);
  std::byte* const to = call.out(0).data<std::byte>();
  const auto count = static_cast<std::int64_t>(plan.tasks.size());
  parallel_for(count, call.max_threads, [&](std::int64_t i) {
    const ConcatTask& task = plan.tasks[static_cast<std::size_t>(i)];
    const Part& part = plan.parts[task.part];
    run_copy_share(part.plan, call.in(static_cast<int>(task.part)).data<const std::byte>(),
                   to + part.offset, task.share, task.shares);
  });
  return Status::ok;
}

/// Cuts large parts.
std::vector<ConcatTask> tasks_of(const std::vector<Part>& parts) {
  constexpr std::int64_t kShareBytes = kMinThreadedCopy / 4, kMaxShares = 16;
  std::vector<ConcatTask> tasks;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t shares =
        std::clamp<std::int64_t>(parts[i].plan.bytes / kShareBytes, 1, kMaxShares);
    for (std::int64_t share = 0; share < shares; ++share) tasks.push_back({i, share, shares});
  }
  return tasks;
}

Prepared prepare(const PrepareCtx& ctx) {
  const Operand& to = ctx.outputs[0];
  const std::int64_t given = ctx.attrs[0].integer();
  const std::int64_t axis = given < 0 ? given + to.rank : given;
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(to.dtype));
  auto plan = std::make_shared<ConcatSchedule>();
  std::int64_t done = 0;
  for (const Operand& from : ctx.inputs) {
    plan->parts.push_back({plan_copy({from.dims, static_cast<std::size_t>(from.rank)}, from.strides,
                                     to.strides, static_cast<int>(bytes), ctx.isa),
                           done * to.strides[axis] * bytes});
    done += from.dims[axis];
  }
  if (to.elements() * bytes < kMinThreadedCopy) return {.state = std::move(plan)};
  plan->tasks = tasks_of(plan->parts);
  return {.state = std::move(plan), .run = concat_in_shares};
}

}  // namespace concat
}  // namespace

extern constinit const KernelDef concat_kernel{
    .name = "concat",
    .doc = "Copies of the inputs, runs of neighbours at once.",
    .prepare = concat::prepare,
    .run = concat::concat_parts,
};

}  // namespace scanloom::kernels
