// gather: copies the block of data that each index names. A contiguous block is one copy of memory;
// others go through a copy plan.
#include <cstring>
#include <memory>

#include "kernels/copy_plan.h"
#include "kernels/kernel.h"
#include "tensor/shape.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::Shape;
using tensor::Status;

struct GatherSchedule {
  CopyPlan block;
  std::int64_t size = 0;                   ///< of the axis that is indexed
  std::int64_t count = 0;                  ///< number of indices
  std::int64_t data_step = 0, y_step = 0;  ///< in bytes, between indices
};

Status fail_outside(const Call& call, std::int64_t index, std::int64_t size) {
  return call.fail("index {} is outside an axis of {} elements", index, size);
}

/// Blocks of one element.
template <class Index, class T>
Status run_elements(const Call& call) noexcept {
  const GatherSchedule& plan = *static_cast<const GatherSchedule*>(call.prepared);
  const Index* const indices = call.in(1).data<const Index>();
  const T* const data = call.in(0).data<const T>();
  T* const y = call.out(0).data<T>();
  constexpr std::int64_t kBytes = sizeof(T);
  const std::int64_t data_step = plan.data_step / kBytes, y_step = plan.y_step / kBytes;
  const std::int64_t size = plan.size, count = plan.count;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = indices[i];
    if (index < -size || index >= size) return fail_outside(call, index, size);
    y[i * y_step] = data[(index < 0 ? index + size : index) * data_step];
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

template <class Index>
tensor::KernelFn run_of(std::int64_t block_elements, std::int64_t bytes) {
  if (block_elements == 1 && bytes == 4) return run_elements<Index, std::uint32_t>;
  if (block_elements == 1 && bytes == 8) return run_elements<Index, std::uint64_t>;
  return run<Index>;
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
  plan->block = plan_copy(block.dims(), from.data(), to.data(), static_cast<int>(bytes));
  plan->size = data.dims[axis];
  plan->count = indices.elements();
  plan->data_step = data.strides[axis] * bytes;
  plan->y_step = step * bytes;
  const std::int64_t elements = block.elements();
  return {.state = std::move(plan),
          .run = indices.dtype == DType::i32 ? run_of<std::int32_t>(elements, bytes)
                                             : run_of<std::int64_t>(elements, bytes)};
}

}  // namespace

extern constinit const KernelDef gather_kernel{
    .name = "gather",
    .doc = "Slices along one axis, each copied as runs of neighbours.",
    .prepare = prepare,
    .run = run<std::int64_t>,
};

}  // namespace scanloom::kernels
