#include "kernels/arg_search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "base/thread_pool.h"
#include "kernels/line_axis.h"
#include "kernels/simd.h"
#include "tensor/paced_poll.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::Status;

enum Attribute : std::size_t { kAxis, kKeepdims, kSelectLast };

constexpr std::int64_t kMaxChunks = 64;

struct ArgSearchSchedule {
  std::array<LineAxis, tensor::kMaxRank> kept{};  ///< without the axis of the lanes
  std::size_t kept_axes = 0;
  std::int64_t kept_count = 1;
  LineAxis lane;      ///< along which adjacent lines lie
  LineAxis searched;  ///< y is unused
  bool greatest = true, last = false;
  void (*lines)(const ArgSearchSchedule&, const Call&, std::int64_t index) = nullptr;
  const SimdTables* tables = nullptr;
};

template <class T>
ArgSearchFn<T> search_of(const ArgSearchFns& fns) {
  if constexpr (std::is_same_v<T, float>) return fns.f32;
  if constexpr (std::is_same_v<T, double>) return fns.f64;
  if constexpr (std::is_same_v<T, std::int32_t>) return fns.i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return fns.i64;
}

/// Searches all lines at one index of the kept axes.
template <class T>
void lines(const ArgSearchSchedule& plan, const Call& call, std::int64_t index) {
  ArgSearch<T> search{.x = call.in(0).data<const T>(),
                      .size = plan.searched.size,
                      .step = plan.searched.x,
                      .lanes = plan.lane.size,
                      .y = call.out(0).data<std::int64_t>(),
                      .y_step = plan.lane.y,
                      .greatest = plan.greatest,
                      .last = plan.last};
  for (std::size_t i = plan.kept_axes; i-- > 0;) {
    const LineAxis& axis = plan.kept[i];
    search.x += index % axis.size * axis.x;
    search.y += index % axis.size * axis.y;
    index /= axis.size;
  }
  search_of<T>(plan.tables->arg_search)(search);
}

void add_axis(ArgSearchSchedule& plan, const LineAxis& axis) {
  if (axis.size == 1) return;
  plan.kept_count *= axis.size;
  if (plan.kept_axes > 0) {
    LineAxis& outer = plan.kept[plan.kept_axes - 1];
    if (outer.x == axis.x * axis.size && outer.y == axis.y * axis.size) {
      outer = {outer.size * axis.size, axis.x, axis.y};
      return;
    }
  }
  plan.kept[plan.kept_axes++] = axis;
}

/// Turns the kept axis with adjacent elements into lanes, if there is one.
void choose_lanes(ArgSearchSchedule& plan) {
  for (std::size_t i = 0; i < plan.kept_axes; ++i) {
    if (plan.kept[i].x != 1) continue;
    plan.lane = plan.kept[i];
    plan.kept_count /= plan.lane.size;
    for (--plan.kept_axes; i < plan.kept_axes; ++i) plan.kept[i] = plan.kept[i + 1];
    return;
  }
}

ArgSearchSchedule plan_of(const PrepareCtx& ctx, int searched) {
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[0];
  const bool keeps = ctx.attrs[kKeepdims].integer() != 0;
  ArgSearchSchedule plan;
  int to = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (axis == searched) {
      plan.searched = {x.dims[axis], x.strides[axis], 0};
      to += keeps ? 1 : 0;
    } else {
      add_axis(plan, {x.dims[axis], x.strides[axis], y.strides[to++]});
    }
  }
  return plan;
}

}  // namespace

Prepared prepare_arg_search(const PrepareCtx& ctx, bool greatest) {
  const Operand& x = ctx.inputs[0];
  const std::int64_t given = ctx.attrs[kAxis].integer();
  const int searched = static_cast<int>(given < 0 ? given + x.rank : given);
  for (int axis = 0; axis < x.rank; ++axis)
    if (x.dims[axis] == 0) return Prepared::no("an input without elements");
  ArgSearchSchedule plan = plan_of(ctx, searched);
  if (plan.searched.size > std::numeric_limits<std::int32_t>::max())
    return Prepared::no("an axis of 2^31 elements or more");
  // A line of adjacent elements is searched in vectors itself.
  if (plan.searched.x != 1 || plan.searched.size == 1) choose_lanes(plan);
  switch (x.dtype) {
    case DType::f32:
      plan.lines = lines<float>;
      break;
    case DType::f64:
      plan.lines = lines<double>;
      break;
    case DType::i32:
      plan.lines = lines<std::int32_t>;
      break;
    case DType::i64:
      plan.lines = lines<std::int64_t>;
      break;
    default:
      return Prepared::no("an element type that only the reference kernel takes");
  }
  plan.greatest = greatest;
  plan.last = ctx.attrs[kSelectLast].integer() != 0;
  plan.tables = &simd_tables(ctx.isa);
  return {.state = std::make_shared<const ArgSearchSchedule>(plan)};
}

Status run_arg_search(const Call& call) noexcept {
  const ArgSearchSchedule& plan = *static_cast<const ArgSearchSchedule*>(call.prepared);
  const std::int64_t elements = plan.kept_count * plan.lane.size * plan.searched.size;
  const bool shared = call.max_threads > 1 && elements >= kMinThreadedElements;
  const std::int64_t chunks = shared ? std::min(plan.kept_count, kMaxChunks) : 1;
  const auto run = [&](std::int64_t chunk) {
    const std::int64_t end = plan.kept_count * (chunk + 1) / chunks;
    tensor::PacedPoll poll(call);
    for (std::int64_t index = plan.kept_count * chunk / chunks;
         index < end && !poll.stops(elements / plan.kept_count); ++index)
      plan.lines(plan, call, index);
  };
  if (chunks > 1)
    parallel_for(chunks, call.max_threads, run);
  else
    run(0);
  return call.ok_or_stopped();
}

}  // namespace scanloom::kernels
