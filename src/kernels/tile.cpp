// tile: repeats blocks of memory. The result is made from its last axis to its first, so that what
// an outer axis repeats is already in place and copied as one run. Short runs, and results that are
// not contiguous, are one copy from a view that repeats elements.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/copy_plan.h"
#include "kernels/kernel.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::Status;

struct TiledAxis {
  std::int64_t size = 1, step = 0;  ///< the step is in bytes of x
  std::int64_t repeats = 1;
  std::int64_t block = 0;  ///< bytes of the result that one index takes
};

struct TileSchedule {
  std::vector<TiledAxis> axes;  ///< the last one is a run of adjacent elements of x
};

/// Copies the first `bytes` bytes until there are `total`. What is copied doubles until it is long
/// enough for a fast copy; then it stays the same, and in the L1 cache.
void repeat(std::byte* to, std::int64_t bytes, std::int64_t total) {
  constexpr std::int64_t kLongCopy = 4096;
  std::int64_t run = bytes;
  for (std::int64_t done = bytes; done < total;) {
    const std::int64_t count = std::min(run, total - done);
    std::memcpy(to + done, to, static_cast<std::size_t>(count));
    done += count;
    if (run < kLongCopy) run = done;
  }
}

/// As deep as there are axes.
void tile_axis(const TileSchedule& plan, std::size_t axis, const std::byte* x, std::byte* y) {
  const TiledAxis& at = plan.axes[axis];
  const std::int64_t bytes = at.size * at.block;
  if (axis + 1 == plan.axes.size())
    std::memcpy(y, x, static_cast<std::size_t>(bytes));
  else
    for (std::int64_t i = 0; i < at.size; ++i)
      tile_axis(plan, axis + 1, x + i * at.step, y + i * at.block);
  repeat(y, bytes, bytes * at.repeats);
}

Status run_tile(const Call& call) noexcept {
  tile_axis(*static_cast<const TileSchedule*>(call.prepared), 0, call.in(0).data<const std::byte>(),
            call.out(0).data<std::byte>());
  return Status::ok;
}

Status run_view(const Call& call) noexcept {
  run_copy(*static_cast<const CopyPlan*>(call.prepared), call.in(0).data<const std::byte>(),
           call.out(0).data<std::byte>(), call);
  return call.ok_or_stopped();
}

Prepared prepare_view(const PrepareCtx& ctx) {
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[0];
  std::vector<std::int64_t> dims, from, to;
  const auto add = [&](std::int64_t dim, std::int64_t from_stride, std::int64_t to_stride) {
    if (dim == 1) return;
    dims.push_back(dim);
    from.push_back(from_stride);
    to.push_back(to_stride);
  };
  for (int i = 0; i < x.rank; ++i) {
    add(y.dims[i] / x.dims[i], 0, y.strides[i] * x.dims[i]);
    add(x.dims[i], x.strides[i], y.strides[i]);
  }
  if (dims.size() > tensor::kMaxRank) return Prepared::no("too many axes that are repeated");
  return {.state = std::make_shared<const CopyPlan>(plan_copy(
              dims, from.data(), to.data(), static_cast<int>(dtype_bytes(x.dtype)), ctx.isa)),
          .run = run_view};
}

Prepared prepare_tile(const PrepareCtx& ctx) {
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[0];
  if (x.empty() || y.empty()) return Prepared::no("no elements to compute");
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(x.dtype));
  constexpr std::int64_t kShortRun = 64;
  auto plan = std::make_shared<TileSchedule>();
  std::int64_t block = bytes;
  for (int i = x.rank; i-- > 0;) {
    const TiledAxis axis{x.dims[i], x.strides[i] * bytes, y.dims[i] / x.dims[i], block};
    block *= y.dims[i];
    TiledAxis* const inner = plan->axes.empty() ? nullptr : &plan->axes.front();
    if (inner != nullptr && inner->repeats == 1 && axis.step == inner->step * inner->size)
      *inner = {axis.size * inner->size, inner->step, axis.repeats, inner->block};
    else if (axis.size != 1 || axis.repeats != 1)
      plan->axes.insert(plan->axes.begin(), axis);
  }
  const bool has_runs = !plan->axes.empty() && plan->axes.back().step == bytes &&
                        plan->axes.back().size * bytes >= kShortRun;
  if (!has_runs || !y.contiguous) return prepare_view(ctx);
  return {.state = std::move(plan)};
}

}  // namespace

extern constinit const KernelDef tile_kernel{
    .name = "tile",
    .doc = "Runs of x, then blocks of the result that are repeated where they are.",
    .prepare = prepare_tile,
    .run = run_tile,
};

}  // namespace scanloom::kernels
