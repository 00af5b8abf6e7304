#include "kernels/index_moves.h"

#include <cstring>
#include <memory>
#include <utility>

#include "tensor/strided_copy.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::ScatterReduction;
using tensor::Shape;
using tensor::Status;

/// Total bytes above which several threads gather.
constexpr std::int64_t kMinThreadedGather = std::int64_t{1} << 17;

/// What a row is moved between: the first elements of the operands.
struct MoveContext {
  const IndexSchedule* schedule = nullptr;
  std::byte *indexed = nullptr, *other = nullptr;
};

const MoveContext& context_of(const void* context) {
  return *static_cast<const MoveContext*>(context);
}

/// Blocks of kBytes adjacent bytes, or of `size` if kBytes is 0.
template <bool kGathers, std::size_t kBytes>
void move_runs(const void* context, const IndexedRow& row) {
  const MoveContext& c = context_of(context);
  const std::size_t size = kBytes != 0 ? kBytes : static_cast<std::size_t>(c.schedule->block.bytes);
  std::byte* other = c.other + row.other;
  for (std::int64_t i = 0; i < row.count; ++i, other += row.other_step) {
    std::byte* const there = c.indexed + row.indexed[i];
    std::memcpy(kGathers ? other : there, kGathers ? there : other, size);
  }
}

template <bool kGathers>
void move_blocks(const void* context, const IndexedRow& row) {
  const MoveContext& c = context_of(context);
  std::byte* other = c.other + row.other;
  for (std::int64_t i = 0; i < row.count; ++i, other += row.other_step) {
    std::byte* const there = c.indexed + row.indexed[i];
    run_copy(c.schedule->block, kGathers ? there : other, kGathers ? other : there);
  }
}

template <bool kGathers>
MoveRowFn move_of(const CopyPlan& block) {
  if (block.empty || block.rank > 0 || block.inner != CopyPlan::Inner::run)
    return move_blocks<kGathers>;
  switch (block.bytes) {
    case 1:
      return move_runs<kGathers, 1>;
    case 2:
      return move_runs<kGathers, 2>;
    case 4:
      return move_runs<kGathers, 4>;
    case 8:
      return move_runs<kGathers, 8>;
    case 16:
      return move_runs<kGathers, 16>;
    case 32:
      return move_runs<kGathers, 32>;
    case 64:
      return move_runs<kGathers, 64>;
    default:
      return move_runs<kGathers, 0>;
  }
}

template <class T, ScatterReduction kReduction>
void combine_run(T* there, const T* updates, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    there[i] = tensor::combine(kReduction, there[i], updates[i]);
}

template <class T, ScatterReduction kReduction>
void combine_runs(const void* context, const IndexedRow& row) {
  const MoveContext& c = context_of(context);
  const std::int64_t count = c.schedule->block.bytes / static_cast<std::int64_t>(sizeof(T));
  const std::byte* other = c.other + row.other;
  for (std::int64_t i = 0; i < row.count; ++i, other += row.other_step) {
    T* const there = reinterpret_cast<T*>(c.indexed + row.indexed[i]);
    const T* const updates = reinterpret_cast<const T*>(other);
    // Most often there is one element.
    if (count == 1)
      *there = tensor::combine(kReduction, *there, *updates);
    else
      combine_run<T, kReduction>(there, updates, count);
  }
}

template <class T, ScatterReduction kReduction>
void combine_blocks(const void* context, const IndexedRow& row) {
  const MoveContext& c = context_of(context);
  const BlockAxes& axes = c.schedule->axes;
  const std::byte* other = c.other + row.other;
  for (std::int64_t i = 0; i < row.count; ++i, other += row.other_step) {
    T* const there = reinterpret_cast<T*>(c.indexed + row.indexed[i]);
    const T* const updates = reinterpret_cast<const T*>(other);
    tensor::for_each_element<2>(
        axes.dims.dims(), {axes.to.data(), axes.from.data()}, [&](const auto& at) {
          there[at[0]] = tensor::combine(kReduction, there[at[0]], updates[at[1]]);
        });
  }
}

template <class T, ScatterReduction kReduction>
MoveRowFn combine_of(const CopyPlan& block) {
  const bool is_run = !block.empty && block.rank == 0 && block.inner == CopyPlan::Inner::run;
  return is_run ? combine_runs<T, kReduction> : combine_blocks<T, kReduction>;
}

template <class T>
MoveRowFn combine_of(const CopyPlan& block, ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::none:
      return nullptr;
    case ScatterReduction::add:
      return combine_of<T, ScatterReduction::add>(block);
    case ScatterReduction::mul:
      return combine_of<T, ScatterReduction::mul>(block);
    case ScatterReduction::max:
      return combine_of<T, ScatterReduction::max>(block);
    case ScatterReduction::min:
      return combine_of<T, ScatterReduction::min>(block);
  }
  return nullptr;
}

/// Whether each tuple is one number and names one element.
bool moves_elements(const IndexSchedule& schedule) {
  const CopyPlan& block = schedule.block;
  return schedule.walk.length == 1 && !block.empty && schedule.axes.dims.elements() == 1;
}

IndexMove move_between(const IndexSchedule& schedule, const MoveContext& context) {
  return {schedule.move, &context, schedule.elements, context.indexed, context.other};
}

/// Reductions over these types have no rows of their own: they are left to the reference.
template <class T>
inline constexpr bool kCombines =
    std::is_arithmetic_v<T> || tensor::SmallFloatType<T> || tensor::is_complex_type<T>;

CopyPlan plan_whole(const PrepareCtx& ctx) {
  const Operand &data = ctx.inputs[0], &y = ctx.outputs[0];
  return plan_copy({y.dims, static_cast<std::size_t>(y.rank)}, data.strides, y.strides,
                   static_cast<int>(dtype_bytes(y.dtype)), ctx.isa);
}

void plan_block(const PrepareCtx& ctx, IndexSchedule& schedule) {
  schedule.block =
      plan_copy(schedule.axes.dims.dims(), schedule.axes.from.data(), schedule.axes.to.data(),
                static_cast<int>(dtype_bytes(ctx.outputs[0].dtype)), ctx.isa);
}

/// Whether there is nothing to move and no index that could be out of range. Tuples of no numbers
/// with blocks of no elements take no memory, so there may be more of them than a walk can visit.
bool has_nothing_to_do(const Operand& indices, const Operand& moved) {
  return indices.empty() && moved.empty();
}

}  // namespace

MoveRowFn gather_move(const CopyPlan& block) { return move_of<true>(block); }

MoveRowFn scatter_move(const CopyPlan& block, ScatterReduction reduction, DType dtype) {
  if (reduction == ScatterReduction::none) return move_of<false>(block);
  return tensor::visit_dtype(dtype, [&]<class T>(std::type_identity<T>) -> MoveRowFn {
    if constexpr (kCombines<T>)
      return combine_of<T>(block, reduction);
    else
      return nullptr;
  });
}

Status run_gather(const Call& call) noexcept {
  const auto& schedule = *static_cast<const IndexSchedule*>(call.prepared);
  if (has_nothing_to_do(call.in(1), call.out(0))) return Status::ok;
  const MoveContext context{&schedule, call.in(0).data<std::byte>(), call.out(0).data<std::byte>()};
  const bool is_large = schedule.walk.tuples() * schedule.block.bytes >= kMinThreadedGather;
  const IndexMove move = move_between(schedule, context);
  return is_large ? walk_indices_threaded(schedule.walk, call, call.in(1), move)
                  : walk_indices(schedule.walk, call, call.in(1), move);
}

Status run_scatter(const Call& call) noexcept {
  const auto& schedule = *static_cast<const IndexSchedule*>(call.prepared);
  if (!tensor::is_same_memory(call.in(0), call.out(0)))
    run_copy(schedule.whole, call.in(0).data<const std::byte>(), call.out(0).data<std::byte>(),
             call);
  if (call.ok_or_stopped() != Status::ok) return Status::stopped;
  if (has_nothing_to_do(call.in(1), call.in(2))) return Status::ok;
  // In one thread: of several updates of an element the last one wins, and sums have an order.
  const MoveContext context{&schedule, call.out(0).data<std::byte>(), call.in(2).data<std::byte>()};
  return walk_indices(schedule.walk, call, call.in(1), move_between(schedule, context));
}

Prepared prepared_gather(const PrepareCtx& ctx, IndexSchedule schedule) {
  plan_block(ctx, schedule);
  schedule.move = gather_move(schedule.block);
  if (moves_elements(schedule))
    schedule.elements = gather_elements_move(dtype_bytes(ctx.outputs[0].dtype), schedule.walk.wide);
  return {.state = std::make_shared<const IndexSchedule>(std::move(schedule)), .run = run_gather};
}

Prepared prepared_scatter(const PrepareCtx& ctx, IndexSchedule schedule,
                          ScatterReduction reduction) {
  plan_block(ctx, schedule);
  schedule.move = scatter_move(schedule.block, reduction, ctx.outputs[0].dtype);
  if (schedule.move == nullptr)
    return Prepared::no("an element type that only the reference kernel combines");
  const DType dtype = ctx.outputs[0].dtype;
  if (moves_elements(schedule))
    schedule.elements = reduction == ScatterReduction::none
                            ? scatter_elements_move(dtype_bytes(dtype), schedule.walk.wide)
                            : combine_elements_move(dtype, reduction, schedule.walk.wide);
  schedule.whole = plan_whole(ctx);
  return {.state = std::make_shared<const IndexSchedule>(std::move(schedule)), .run = run_scatter};
}

IndexSchedule tuple_schedule(const TupleSource& of, bool gathers) {
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(of.indexed.dtype));
  const auto index_bytes = static_cast<std::int64_t>(dtype_bytes(of.indices.dtype));
  IndexSchedule schedule;
  IndexWalk& walk = schedule.walk;
  const int outer = of.indices.rank - 1;
  for (int i = 0; i < outer; ++i)
    walk.add_axis(of.indices.dims[i], of.indices.strides[i] * index_bytes,
                  i < of.batch ? of.indexed.strides[i] * bytes : 0, of.other.strides[i] * bytes);
  if (outer == 0) walk.add_axis(1, 0, 0, 0);
  walk.length = static_cast<int>(of.indices.dims[outer]);
  walk.tuple_step = of.indices.strides[outer] * index_bytes;
  walk.wide = of.indices.dtype == DType::i64;
  for (int k = 0; k < walk.length; ++k)
    walk.axes[static_cast<std::size_t>(k)] = {of.indexed.dims[of.batch + k],
                                              of.indexed.strides[of.batch + k] * bytes};
  for (int i = of.batch + walk.length, j = outer; i < of.indexed.rank; ++i, ++j) {
    schedule.axes.dims.push_back(of.indexed.dims[i]);
    (gathers ? schedule.axes.from : schedule.axes.to).push_back(of.indexed.strides[i]);
    (gathers ? schedule.axes.to : schedule.axes.from).push_back(of.other.strides[j]);
  }
  return schedule;
}

IndexSchedule element_schedule(const TupleSource& of, int axis) {
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(of.indexed.dtype));
  const auto index_bytes = static_cast<std::int64_t>(dtype_bytes(of.indices.dtype));
  IndexSchedule schedule;
  IndexWalk& walk = schedule.walk;
  for (int i = 0; i < of.indices.rank; ++i)
    walk.add_axis(of.indices.dims[i], of.indices.strides[i] * index_bytes,
                  i == axis ? 0 : of.indexed.strides[i] * bytes, of.other.strides[i] * bytes);
  walk.wide = of.indices.dtype == DType::i64;
  walk.axes[0] = {of.indexed.dims[axis], of.indexed.strides[axis] * bytes};
  return schedule;
}

}  // namespace scanloom::kernels
