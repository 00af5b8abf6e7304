// gather: copies the block of data that each index names. A contiguous block is one copy of memory.
// If axes come before the indexed one, each of their positions takes all indices in turn, so that
// the result is written in order. Other blocks go through a copy plan. Constant indices that follow
// each other, such as those of the frames of a signal, are one copy.
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/copy_plan.h"
#include "kernels/element_moves.h"
#include "kernels/kernel.h"
#include "tensor/for_each.h"
#include "tensor/shape.h"

namespace scanloom::kernels {
namespace {
namespace gathering {

using tensor::Call;
using tensor::Operand;
using tensor::Shape;
using tensor::Status;

struct GatherSchedule {
  CopyPlan block;
  std::int64_t size = 0;                   ///< of the axis that is indexed
  std::int64_t count = 0;                  ///< number of indices
  std::int64_t data_step = 0, y_step = 0;  ///< in bytes, between indices
  /// Indices that follow each other, if they are constant.
  struct Sequence {
    std::int64_t from, count;
  };
  std::vector<Sequence> sequences;
  /// The axes before the indexed one, with strides in bytes, and the run of adjacent bytes within.
  Shape outer, outer_data, outer_y;
  std::int64_t run_bytes = 0;
  MoveElementsFn elements = nullptr;  ///< for runs of one element
};

/// Sequences must have this many indices on average to be worth it.
constexpr std::int64_t kMinSequence = 4;

Status fail_outside(const Call& call, std::int64_t index, std::int64_t size) {
  return call.fail("index {} is outside an axis of {} elements", index, size);
}

/// All indices of one position of the outer axes. Returns how many were moved before the first one
/// out of range.
template <class Index>
std::int64_t move_runs_of(const GatherSchedule& plan, const Index* indices, const std::byte* data,
                          std::byte* y) {
  if (plan.elements != nullptr)
    return plan.elements({.indices = reinterpret_cast<const std::byte*>(indices),
                          .index_step = sizeof(Index),
                          .size = plan.size,
                          .stride = plan.data_step,
                          .indexed = const_cast<std::byte*>(data),
                          .other = y,
                          .other_step = plan.y_step,
                          .count = plan.count});
  for (std::int64_t i = 0; i < plan.count; ++i, y += plan.y_step) {
    const std::int64_t index = indices[i];
    if (index < -plan.size || index >= plan.size) return i;
    std::memcpy(y, data + (index < 0 ? index + plan.size : index) * plan.data_step,
                static_cast<std::size_t>(plan.run_bytes));
  }
  return plan.count;
}

template <class Index>
Status run_by_rows(const Call& call) noexcept {
  const GatherSchedule& plan = *static_cast<const GatherSchedule*>(call.prepared);
  const Index* const indices = call.in(1).data<const Index>();
  const std::byte* const data = call.in(0).data<const std::byte>();
  std::byte* const y = call.out(0).data<std::byte>();
  tensor::RowCursor<2> rows(plan.outer.dims());
  rows.add(plan.outer_data.data());
  rows.add(plan.outer_y.data());
  for (rows.start(); !rows.done(); rows.next())
    for (std::int64_t row = 0; row < rows.length(); ++row) {
      const std::int64_t moved =
          move_runs_of(plan, indices, data + rows.offset(0) + row * rows.step(0),
                       y + rows.offset(1) + row * rows.step(1));
      if (moved != plan.count) return fail_outside(call, indices[moved], plan.size);
    }
  return Status::ok;
}

template <class Index>
Status run(const Call& call) noexcept {
  const GatherSchedule& plan = *static_cast<const GatherSchedule*>(call.prepared);
  const Index* indices = call.in(1).data<const Index>();
  const std::byte* data = call.in(0).data<const std::byte>();
  std::byte* y = call.out(0).data<std::byte>();
  for (std::int64_t i = 0; i < plan.count; ++i, y += plan.y_step) {
    const std::int64_t index = indices[i];
    if (index < -plan.size || index >= plan.size) return fail_outside(call, index, plan.size);
    run_copy(plan.block, data + (index < 0 ? index + plan.size : index) * plan.data_step, y);
  }
  return Status::ok;
}

/// Blocks without gaps, so that a sequence of them is one copy.
Status run_sequences(const Call& call) noexcept {
  const GatherSchedule& plan = *static_cast<const GatherSchedule*>(call.prepared);
  const std::byte* const data = call.in(0).data<const std::byte>();
  std::byte* y = call.out(0).data<std::byte>();
  for (const GatherSchedule::Sequence& one : plan.sequences) {
    const std::int64_t bytes = one.count * plan.y_step;
    std::memcpy(y, data + one.from * plan.data_step, static_cast<std::size_t>(bytes));
    y += bytes;
  }
  return Status::ok;
}

/// Finds the sequences in `indices`. None if they are short, or an index is out of range.
template <class Index>
std::vector<GatherSchedule::Sequence> find_sequences(const Index* indices, std::int64_t count,
                                                     std::int64_t size) {
  std::vector<GatherSchedule::Sequence> found;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t given = indices[i];
    if (given < -size || given >= size) return {};
    const std::int64_t index = given < 0 ? given + size : given;
    if (!found.empty() && found.back().from + found.back().count == index)
      ++found.back().count;
    else
      found.push_back({index, 1});
    const auto sequences = static_cast<std::int64_t>(found.size());
    if (sequences > 16 && sequences * kMinSequence > i + 1) return {};
  }
  if (static_cast<std::int64_t>(found.size()) * kMinSequence > count) return {};
  return found;
}

/// Whether the elements are adjacent in row-major order.
bool is_dense(const Shape& dims, const Shape& strides) {
  std::int64_t expected = 1;
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    if (dims[axis] != 1 && strides[axis] != expected) return false;
    expected *= dims[axis];
  }
  return true;
}

/// Whether each position of the axes before `axis` has one run of adjacent elements per index. Sets
/// the schedule to these, if so.
bool split_rows(GatherSchedule& plan, int axis, const Shape& block, const Shape& from,
                const Shape& to, std::int64_t bytes) {
  Shape inner, inner_from, inner_to;
  for (int i = 0; i < block.rank(); ++i) {
    if (i < axis) {
      plan.outer.push_back(block[i]);
      plan.outer_data.push_back(from[i] * bytes);
      plan.outer_y.push_back(to[i] * bytes);
    } else {
      inner.push_back(block[i]);
      inner_from.push_back(from[i]);
      inner_to.push_back(to[i]);
    }
  }
  if (!is_dense(inner, inner_from) || !is_dense(inner, inner_to)) return false;
  plan.run_bytes = inner.elements() * bytes;
  const bool is_element = inner.elements() == 1;
  return plan.outer.elements() > 1 || is_element;
}

tensor::KernelFn run_of(bool by_rows, bool wide) {
  if (by_rows) return wide ? run_by_rows<std::int64_t> : run_by_rows<std::int32_t>;
  return wide ? run<std::int64_t> : run<std::int32_t>;
}

Prepared prepare(const PrepareCtx& ctx) {
  const Operand &data = ctx.inputs[0], &indices = ctx.inputs[1], &y = ctx.outputs[0];
  if (!indices.contiguous) return Prepared::no("indices that are not contiguous");
  const std::int64_t given = ctx.attrs[0].integer();
  const int axis = static_cast<int>(given < 0 ? given + data.rank : given);
  // The axes of the indices must have one common stride within y.
  std::int64_t step = 0, expected = 0;
  for (int i = indices.rank - 1; i >= 0; --i) {
    if (indices.dims[i] == 1) continue;
    if (step == 0) step = expected = y.strides[axis + i];
    if (y.strides[axis + i] != expected) return Prepared::no("blocks that are not evenly spaced");
    expected *= indices.dims[i];
  }
  Shape block = data.shape(), from(std::span(data.strides, static_cast<std::size_t>(data.rank))),
        to;
  block.erase(axis);
  from.erase(axis);
  for (int i = 0; i < y.rank; ++i)
    if (i < axis || i >= axis + indices.rank) to.push_back(y.strides[i]);
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(y.dtype));
  auto plan = std::make_shared<GatherSchedule>();
  plan->block = plan_copy(block.dims(), from.data(), to.data(), static_cast<int>(bytes), ctx.isa);
  plan->size = data.dims[axis];
  plan->count = indices.elements();
  plan->data_step = data.strides[axis] * bytes;
  plan->y_step = step * bytes;
  const std::int64_t elements = block.elements(), block_bytes = elements * bytes;
  const bool without_gaps = plan->data_step == block_bytes && plan->y_step == block_bytes &&
                            is_dense(block, from) && is_dense(block, to);
  if (const void* const constant = ctx.constants[1]; constant != nullptr && without_gaps)
    plan->sequences =
        indices.dtype == DType::i32
            ? find_sequences(static_cast<const std::int32_t*>(constant), plan->count, plan->size)
            : find_sequences(static_cast<const std::int64_t*>(constant), plan->count, plan->size);
  if (!plan->sequences.empty()) return {.state = std::move(plan), .run = run_sequences};
  const bool wide = indices.dtype == DType::i64;
  const bool by_rows = split_rows(*plan, axis, block, from, to, bytes);
  if (plan->run_bytes == bytes)
    plan->elements = gather_elements_move(static_cast<std::size_t>(bytes), wide);
  return {.state = std::move(plan), .run = run_of(by_rows, wide)};
}

}  // namespace gathering
}  // namespace

extern constinit const KernelDef gather_kernel{
    .name = "gather",
    .doc = "Slices along one axis, each copied as runs of neighbours.",
    .prepare = gathering::prepare,
    .run = gathering::run<std::int64_t>,
};

}  // namespace scanloom::kernels
