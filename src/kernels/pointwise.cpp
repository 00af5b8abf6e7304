// pointwise: an element program over broadcast, strided operands. A single instruction over
// contiguous operands goes straight to its loop; bytes that depend on one operand of bytes are
// looked up in a table; anything else runs in blocks of columns (pointwise_plan.h).
#include <algorithm>
#include <array>
#include <memory>

#include "base/thread_pool.h"
#include "kernels/byte_map.h"
#include "kernels/byte_product.h"
#include "kernels/kernel.h"
#include "kernels/pointwise_plan.h"

namespace scanloom::kernels {
namespace {
namespace pointwise {

using tensor::Call;
using tensor::Status;

/// One function over whole operands. An argument is an input, or a constant (input < 0).
struct Direct {
  ElementFn fn = nullptr;
  std::int64_t count = 0;
  std::array<std::int16_t, 3> input{-1, -1, -1};
  std::array<std::uint8_t, 3> step{};  ///< bytes per element; 0: one element for all
  std::uint8_t out_bytes = 4;
  /// By argument; a constant may consist of several numbers.
  std::array<std::array<std::uint64_t, 3>, 3> constants{};

  [[nodiscard]] const std::byte* constant(std::size_t i) const {
    return reinterpret_cast<const std::byte*>(constants[i].data());
  }
  [[nodiscard]] const std::byte* arg(const Call& call, std::size_t i) const {
    return input[i] < 0 ? constant(i) : call.in(input[i]).data<const std::byte>();
  }
};
static_assert(sizeof(QuantizedPairScales) <= sizeof(Direct::constants[0]));

/// One argument, or one and a constant.
Status run_unary(const Call& call) noexcept {
  const Direct& direct = *static_cast<const Direct*>(call.prepared);
  direct.fn(call.out(0).data<std::byte>(), call.in(0).data<const std::byte>(), direct.constant(1),
            nullptr, direct.count);
  return Status::ok;
}

Status run_binary(const Call& call) noexcept {
  const Direct& direct = *static_cast<const Direct*>(call.prepared);
  direct.fn(call.out(0).data<std::byte>(), call.in(0).data<const std::byte>(),
            call.in(1).data<const std::byte>(), nullptr, direct.count);
  return Status::ok;
}

Status run_any(const Call& call) noexcept {
  const Direct& direct = *static_cast<const Direct*>(call.prepared);
  direct.fn(call.out(0).data<std::byte>(), direct.arg(call, 0), direct.arg(call, 1),
            direct.arg(call, 2), direct.count);
  return Status::ok;
}

Status run_shared(const Call& call) noexcept {
  const Direct& direct = *static_cast<const Direct*>(call.prepared);
  const std::int64_t shares = (direct.count + kShare - 1) / kShare;
  parallel_for(shares, call.max_threads, [&](std::int64_t share) {
    if (call.stop_requested()) return;
    const std::int64_t first = share * kShare;
    direct.fn(call.out(0).data<std::byte>() + first * direct.out_bytes,
              direct.arg(call, 0) + first * direct.step[0],
              direct.arg(call, 1) + first * direct.step[1],
              direct.arg(call, 2) + first * direct.step[2], std::min(kShare, direct.count - first));
  });
  return call.ok_or_stopped();
}

Status run_blocks(const Call& call) noexcept {
  const auto& plan = *static_cast<const PointwisePlan*>(call.prepared);
  const std::int64_t parts = plan.windows * plan.parts();
  if (plan.slots == 1 || call.max_threads == 1)
    return run_parts(plan, call, *call.scratch, 0, parts) ? Status::ok : Status::stopped;
  parallel_for(plan.slots, call.max_threads, [&](std::int64_t slot) {
    run_parts(plan, call, *call.scratch + slot * plan.slot_bytes(), slot * parts / plan.slots,
              (slot + 1) * parts / plan.slots);
  });
  return call.ok_or_stopped();
}

Status run_flat_blocks(const Call& call) noexcept {
  const auto& plan = *static_cast<const PointwisePlan*>(call.prepared);
  return run_flat(plan, call) ? Status::ok : Status::stopped;
}

bool is_direct(const PointwisePlan& plan) {
  return is_flat(plan) && plan.steps.size() == 1 && plan.spreads.empty() &&
         plan.outputs.size() == 1;
}

Direct direct_of(const PointwisePlan& plan) {
  const PointwiseStep& step = plan.steps[0];
  Direct direct{.fn = step.fn, .count = plan.window_elements};
  direct.out_bytes = plan.outputs[0].bytes;
  const std::array<ValueId, 3> args{step.a, step.b, step.c};
  for (std::size_t i = 0; i < 3; ++i) {
    if (args[i] < plan.first_column) {
      const auto first = static_cast<std::size_t>(args[i]);
      const std::size_t count = std::min(direct.constants[i].size(), plan.constants.size() - first);
      std::copy_n(plan.constants.begin() + args[i], count, direct.constants[i].begin());
    }
    for (const PointwiseOperand& operand : plan.inputs)
      if (operand.value == args[i]) {
        direct.input[i] = operand.index;
        direct.step[i] = operand.lie == Lie::single ? 0 : operand.bytes;
      }
  }
  return direct;
}

tensor::KernelFn direct_run(const Direct& direct, bool three) {
  if (direct.count >= 4 * kShare) return run_shared;
  if (three) return run_any;
  if (direct.input == std::array<std::int16_t, 3>{0, -1, -1}) return run_unary;
  if (direct.input == std::array<std::int16_t, 3>{0, 1, -1}) return run_binary;
  return run_any;
}

Prepared prepare(const PrepareCtx& ctx) {
  auto plan = std::make_shared<PointwisePlan>();
  if (auto why = lower(ctx, *plan)) return Prepared::no(*std::move(why));
  if (is_direct(*plan)) {
    auto direct = std::make_shared<const Direct>(direct_of(*plan));
    const tensor::KernelFn run = direct_run(*direct, plan->steps[0].c != plan->steps[0].out);
    return {.state = std::move(direct), .run = run};
  }
  if (is_byte_map(ctx, *plan)) return prepare_byte_map(ctx, *plan);
  for (int axis = 0; axis < plan->window; ++axis)
    plan->windows *= plan->dims[static_cast<std::size_t>(axis)];
  if (!plan->empty && plan->windows * plan->window_elements >= 4 * kShare)
    plan->slots = std::min<std::int64_t>(plan->windows * plan->parts(), pool_threads());
  const std::int64_t scratch = plan->slots * plan->slot_bytes();
  const tensor::KernelFn run = is_flat(*plan) && plan->slots == 1 ? run_flat_blocks : run_blocks;
  return {.state = std::move(plan), .scratch_bytes = scratch, .run = run};
}

}  // namespace pointwise
}  // namespace

extern constinit const KernelDef pointwise_kernel{
    .name = "pointwise",
    .doc = "Element programs, instruction by instruction over blocks, in vectors for f32 and f64.",
    .prepare = pointwise::prepare,
    .run = pointwise::run_blocks,
};

}  // namespace scanloom::kernels
